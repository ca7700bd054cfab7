//! Clocks that are wrong: the locks of the library in this process, with clocks of the test's own, on the real API server.
//!
//! Times of other machines are never compared, so the wall clock may say what it likes. What counts is how fast a clock
//! goes, and whether it goes on while a machine sleeps.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use statectl::cluster::{ApiError, ApplyOptions, ConnectOptions, Propagation, Resource, Writer, connect};
use statectl::execute::{Held, LockError, LockOptions, Locks, Past, Patience};
use statectl::host::clock::{self, Clock, SystemClock};
use statectl::host::signals::Stop;
use statectl::lock::{Info, Kind, LOCK_FORMAT, Moment, Name};

use crate::support::audit::{self, Write};
use crate::support::cluster::Cluster;
use crate::support::proxy::{Fault, Proxy, Rule};
use crate::support::scene::Scene;

const LEASE: Duration = Duration::from_secs(4);
const HOUR: SignedDuration = SignedDuration::from_hours(1);

/// A clock that is wrong.
struct Bent {
    /// How fast it goes.
    rate: f64,
    /// What it says to people is off by this.
    wall: SignedDuration,
    /// Whether the clock of a holder stands still.
    frozen: bool,
    /// For so many milliseconds the machine has slept.
    slept: AtomicU64,
}

/// Returns a clock that is right.
fn right() -> Bent {
    Bent { rate: 1.0, wall: SignedDuration::ZERO, frozen: false, slept: AtomicU64::new(0) }
}

impl Clock for Bent {
    fn holding(&self) -> Moment {
        if self.frozen {
            return Moment(Duration::from_secs(1000));
        }
        let slept = Duration::from_millis(self.slept.load(Ordering::Relaxed));
        Moment(SystemClock.holding().0.mul_f64(self.rate) + slept)
    }

    fn watching(&self) -> Moment {
        Moment(SystemClock.watching().0.mul_f64(self.rate))
    }

    fn wall(&self) -> Timestamp {
        clock::now() + self.wall
    }
}

/// A process with a lock, as far as the others can tell.
struct Process {
    clock: Arc<Bent>,
    writer: Writer,
    locks: Arc<Locks>,
    namespace: String,
    /// Its end, if somebody asks for it.
    _stopper: statectl::host::signals::Stopper,
}

impl Process {
    async fn new(cluster: &Cluster, namespace: &str, user: &str, clock: Bent, wait: Duration) -> Self {
        let options =
            ConnectOptions { kubeconfig: Some(cluster.kubeconfig().to_owned()), ..ConnectOptions::default() };
        let writer = Writer::new(connect(&options).await.unwrap().reader);
        let (stopper, stop) = Stop::new();
        let clock = Arc::new(clock);
        let info = Info { format: LOCK_FORMAT.to_owned(), id: user.to_owned(), ..Info::default() };
        let own = Arc::clone(&clock) as Arc<dyn Clock>;
        let options = LockOptions {
            kind: Kind::Lease,
            lease: LEASE,
            wait,
            info,
            commit: None,
            clock: own,
            stop,
            newest_only: false,
        };
        let locks = Locks::new(&writer, options);
        Self { clock, locks, writer, namespace: namespace.to_owned(), _stopper: stopper }
    }

    async fn acquire(&self) -> Result<Held, LockError> {
        let name = Name::release(&self.namespace, "r");
        self.locks.acquire(&name, &[], Patience::Wait, &|_| {}).await
    }

    /// Writes something that rests on the lock.
    async fn write(&self, held: &Held) -> Result<(), ApiError> {
        let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "r"},
            "data": {"at": format!("{:?}", SystemClock.watching())}});
        let options = ApplyOptions { force: true, manager: "helm" };
        let writer = self.writer.behind(held.gate());
        writer.apply(&Resource::config_maps(), Some(&self.namespace), "r", &body, options).await.map(drop)
    }

    /// Writes over and over, until it is told to end, or may not any more; returns whether it still might.
    async fn works(&self, held: &Held, end: &AtomicBool) -> bool {
        while !end.load(Ordering::Relaxed) {
            match self.write(held).await {
                Ok(()) => tokio::time::sleep(Duration::from_millis(100)).await,
                Err(ApiError::Closed { .. }) => return false,
                Err(error) => panic!("{error}"),
            }
        }
        true
    }
}

fn writes(scene: &Scene, mark: u64) -> Vec<Write> {
    let writes = audit::writes(scene.cluster, mark, &scene.namespace, &scene.namespace);
    assert_eq!(audit::violations(&writes), [""; 0]);
    writes
}

/// Returns the silence of the holder before the challenger had the lock, by the server's clock.
fn silence(writes: &[Write]) -> Duration {
    let locks = || writes.iter().filter(|write| write.is_lock() && write.is_done());
    let of_holder = locks().filter(|write| write.user.ends_with("holder")).map(|write| write.completed).max();
    let taken = locks().filter(|write| write.user.ends_with("challenger")).map(|write| write.received).min();
    taken.unwrap().duration_since(of_holder.unwrap()).try_into().unwrap()
}

/// Whatever these clocks say, a live holder is not taken over from, and a dead one is after its silence.
async fn lives_and_dies(name: &str, holder: Bent, challenger: Bent) {
    let scene = Scene::new(&format!("clocks-{name}"));
    let (namespace, folder) = (scene.namespace.as_str(), scene.folder.path());
    let mark = scene.cluster.audit_mark();
    let user = |who: &str| scene.cluster.as_user(&format!("{namespace}-{who}"), folder);
    let holder = Process::new(&user("holder"), namespace, "holder", holder, LEASE).await;
    let patience = LEASE * 3 / 2;
    let challenger = Process::new(&user("challenger"), namespace, "challenger", challenger, patience).await;
    let held = holder.acquire().await.unwrap();
    let end = AtomicBool::new(false);
    let (still, refused) = tokio::join!(holder.works(&held, &end), async {
        let refused = challenger.acquire().await;
        end.store(true, Ordering::Relaxed);
        refused
    });
    assert!(still, "{name}: it could work all the time");
    assert!(matches!(refused, Err(LockError::Held { .. })), "{name}: {refused:?}");
    // Dropped, not given back: as if the process was killed.
    drop(held);
    let taken = challenger.acquire().await.unwrap();
    assert_eq!(taken.past(), Past::Silent, "{name}");
    challenger.write(&taken).await.unwrap();
    taken.release().await;
    let silence = silence(&writes(&scene, mark));
    // On a clock that is 5 % fast.
    assert!(silence >= LEASE.mul_f64(0.95), "{name}: {silence:?}");
    assert!(silence < LEASE * 3, "{name}: {silence:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_the_clocks_say_a_live_holder_keeps_its_lock_and_a_dead_one_loses_it() {
    let wall = |wall: SignedDuration| Bent { wall, ..right() };
    let rate = |rate: f64| Bent { rate, ..right() };
    let frozen = || Bent { frozen: true, ..right() };
    // It sleeps while it waits: what it could not watch is not silence.
    let sleeps = || Bent { slept: AtomicU64::new(3_600_000), ..right() };
    let cases = [
        ("holder-ahead", wall(HOUR), right()),
        ("holder-behind", wall(-HOUR), right()),
        ("challenger-ahead", right(), wall(HOUR)),
        ("challenger-behind", right(), wall(-HOUR)),
        ("holder-frozen", frozen(), right()),
        ("holder-slow", rate(1.0 / 1.05), right()),
        ("challenger-fast", right(), rate(1.05)),
        ("holder-fast", rate(1.05), right()),
        ("challenger-sleeps", right(), sleeps()),
    ];
    let cases = cases.into_iter().map(|(name, holder, challenger)| lives_and_dies(name, holder, challenger));
    futures::future::join_all(cases).await;
}

/// A machine that was suspended: the clock of the holder has gone on, and its first write after that is one too many.
#[tokio::test(flavor = "multi_thread")]
async fn a_holder_that_slept_writes_nothing_when_it_wakes_up() {
    let scene = Scene::new("clocks-slept");
    let (namespace, folder) = (scene.namespace.as_str(), scene.folder.path());
    let mark = scene.cluster.audit_mark();
    let user = |who: &str| scene.cluster.as_user(&format!("{namespace}-{who}"), folder);
    let holder = Process::new(&user("holder"), namespace, "holder", right(), LEASE).await;
    let challenger = Process::new(&user("challenger"), namespace, "challenger", right(), LEASE * 10).await;
    let held = holder.acquire().await.unwrap();
    holder.write(&held).await.unwrap();
    holder.clock.slept.store(60_000, Ordering::Relaxed);
    let taken = challenger.acquire().await.unwrap();
    challenger.write(&taken).await.unwrap();
    for _ in 0..3 {
        let refused = holder.write(&held).await;
        assert!(matches!(refused, Err(ApiError::Closed { .. })), "{refused:?}");
    }
    // It was lost once, and stays lost, whatever the clock says now.
    holder.clock.slept.store(0, Ordering::Relaxed);
    assert!(matches!(holder.write(&held).await, Err(ApiError::Closed { .. })));
    held.release().await;
    challenger.write(&taken).await.unwrap();
    taken.release().await;
    assert!(silence(&writes(&scene, mark)) >= LEASE.mul_f64(0.95));
}

/// A virtual machine that was paused with all its clocks: nothing tells it. Before it destroys something it asks.
#[tokio::test(flavor = "multi_thread")]
async fn a_holder_whose_clocks_all_stood_still_destroys_nothing() {
    let scene = Scene::new("clocks-paused");
    let (namespace, folder) = (scene.namespace.as_str(), scene.folder.path());
    let mark = scene.cluster.audit_mark();
    let user = |who: &str| scene.cluster.as_user(&format!("{namespace}-{who}"), folder);
    let proxy = Proxy::with_credentials(scene.cluster, user("holder").kubeconfig());
    let paused = Bent { frozen: true, ..right() };
    let holder = Process::new(proxy.cluster(), namespace, "holder", paused, LEASE).await;
    let challenger = Process::new(&user("challenger"), namespace, "challenger", right(), LEASE * 10).await;
    let held = holder.acquire().await.unwrap();
    holder.write(&held).await.unwrap();
    proxy.rule(Rule::on("PUT", "/leases").fault(Fault::answer(503, "nobody is there")));
    let taken = challenger.acquire().await.unwrap();
    challenger.write(&taken).await.unwrap();
    proxy.clear();
    let map = scene.cluster.uid(namespace, "configmap", "r");
    let writer = holder.writer.behind(held.gate());
    let maps = Resource::config_maps();
    let refused = writer.delete(&maps, Some(namespace), "r", &map, Propagation::Background).await;
    assert!(matches!(refused, Err(ApiError::Closed { .. })), "{refused:?}");
    assert!(matches!(holder.write(&held).await, Err(ApiError::Closed { .. })));
    challenger.write(&taken).await.unwrap();
    taken.release().await;
    assert!(writes(&scene, mark).iter().all(|write| write.resource == "leases" || write.verb != "delete"));
}
