//! Waits until objects are ready.
//!
//! Each object is asked for once. Those that are not ready yet are followed: what a watch tells says when to ask again,
//! and the answer of the server, never the watch, says that an object is ready or has failed. A watch that is late,
//! cut or silent so makes a wait longer at worst: every object is asked for again now and then all the same.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt as _;
use tokio::time::Instant;

use super::event::{Event, Phase, WaitingOn};
use super::look::{Around, Goal, Known, Subject, replica_set};
use super::secrets::Secrets;
use super::{Context, StepError, logs};
use crate::cluster::{Follow, Resource, Sight};
use crate::dsf::state::{ReadyRule, WaitFor};
use crate::health::Health;
use crate::model::{GroupVersionKind, ObjectKey, ReleaseKey};

/// Objects that are asked for at once.
const AT_ONCE: usize = 8;
/// The first pause between two looks at an object that cannot be followed; it grows to [`SLOWEST_POLL`].
const FASTEST_POLL: Duration = Duration::from_millis(100);
/// The longest pause between two looks at such an object.
const SLOWEST_POLL: Duration = Duration::from_secs(1);
/// The first pause between two looks at an object that is followed; it grows to [`SLOWEST_LOOK`].
const FIRST_LOOK: Duration = Duration::from_secs(1);
/// The longest pause between two looks at such an object.
const SLOWEST_LOOK: Duration = Duration::from_secs(15);
/// Changes that come closer together are weighed together.
const SETTLE: Duration = Duration::from_millis(40);
/// How long something may fail that can heal by itself: the first new attempts of a kubelet come after ten seconds.
const PATIENCE: Duration = Duration::from_secs(20);
/// Between two events of a wait in which nothing happens.
const HEARTBEAT: Duration = Duration::from_secs(1);
/// How many objects an event and a message list.
const LISTED: usize = 10;
/// How much longer than the deadline an answer may take.
const LAST_ANSWER: Duration = Duration::from_secs(5);

/// Waits until every object is ready.
///
/// # Errors
/// The first object that has failed, or what was not ready when the time was over.
pub(super) async fn ready<'a>(
    context: &Context<'_>,
    release: &ReleaseKey,
    rules: &[ReadyRule],
    keys: impl Iterator<Item = &'a ObjectKey>,
    timeout: Duration,
) -> Result<(), StepError> {
    let mut subjects = Vec::new();
    for key in keys {
        let resource = context.resource(&key.gvk).await?;
        subjects.push(Subject { key: key.clone(), resource, rules, goal: Goal::Ready });
    }
    until(context, release, subjects, timeout).await
}

/// Waits until a hook's Job or Pod has ended well.
///
/// # Errors
/// It failed, or had not ended when the time was over.
pub(super) async fn completed(
    context: &Context<'_>,
    release: &ReleaseKey,
    key: &ObjectKey,
    timeout: Duration,
) -> Result<(), StepError> {
    let resource = context.resource(&key.gvk).await?;
    let subject = Subject { key: key.clone(), resource, rules: &[], goal: Goal::Ended };
    until(context, release, vec![subject], timeout).await
}

/// Waits until an object that no chart of the run contains is there and ready.
///
/// # Errors
/// It has failed, or was not there or not ready when the time was over.
pub(super) async fn awaited(
    context: &Context<'_>,
    release: &ReleaseKey,
    rules: &[ReadyRule],
    wanted: &WaitFor,
    timeout: Duration,
) -> Result<(), StepError> {
    let start = Instant::now();
    let resource = kind_of(context, release, wanted, timeout).await?;
    let namespace = resource.namespaced.then(|| wanted.namespace.clone());
    let key = ObjectKey { gvk: resource.gvk.clone(), namespace, name: wanted.name.clone() };
    let subject = Subject { key, resource, rules, goal: Goal::Made };
    until(context, release, vec![subject], timeout.saturating_sub(start.elapsed())).await
}

/// Waits until the server knows the kind of an object: its definition may arrive any moment.
async fn kind_of(
    context: &Context<'_>,
    release: &ReleaseKey,
    wanted: &WaitFor,
    timeout: Duration,
) -> Result<Resource, StepError> {
    let (kind, group) = match wanted.kind.split_once('.') {
        Some((kind, group)) => (kind, Some(group)),
        None => (wanted.kind.as_str(), None),
    };
    let start = Instant::now();
    loop {
        if let Some(known) = context.discovery.read().await.by_kind(kind, group) {
            return Ok(known.clone());
        }
        let why = format!("the server does not know the kind {}", wanted.kind);
        let on =
            WaitingOn { object: wanted.to_string(), why: why.clone(), seconds: start.elapsed().as_secs() };
        let phase = Phase::Waiting { ready: 0, total: 1, on: vec![on] };
        context.emit(Event::Entered { key: release.clone(), phase });
        if start.elapsed() >= timeout {
            let what = format!("{wanted} is not ready");
            return Err(StepError::TimedOut { what, seconds: timeout.as_secs(), why });
        }
        context.check_stop()?;
        pause(context, Instant::now() + SLOWEST_POLL).await;
        let fresh = context.writer.reader().discover().await?;
        *context.discovery.write().await = fresh;
    }
}

async fn pause(context: &Context<'_>, until: Instant) {
    tokio::select! {
        () = tokio::time::sleep_until(until) => {}
        _ = context.stop.wait() => {}
    }
}

type Place = (GroupVersionKind, Option<String>);

/// A subject that is not there yet.
struct Entry<'a> {
    subject: Subject<'a>,
    known: Known,
    /// What is missing, and since when that is so.
    why: String,
    since: Instant,
    /// Since when it has been failing without a break.
    failing: Option<Instant>,
    /// When it is asked for again, and whether that was decided since the last look.
    next_look: Instant,
    is_planned: bool,
    /// When it was asked for last.
    looked: Instant,
    /// The pause after the next look.
    look_pause: Duration,
    /// The pause before an end that the last look did not confirm is looked at again.
    doubt: Duration,
    is_ready: bool,
}

impl<'a> Entry<'a> {
    fn new(subject: Subject<'a>) -> Self {
        let now = Instant::now();
        Entry {
            subject,
            known: Known::default(),
            why: "not looked at yet".to_owned(),
            since: now,
            failing: None,
            next_look: now,
            is_planned: true,
            looked: now,
            look_pause: FASTEST_POLL,
            doubt: Duration::ZERO,
            is_ready: false,
        }
    }

    fn say(&mut self, why: String, now: Instant) {
        if self.why != why {
            self.why = why;
            self.since = now;
        }
    }

    /// Takes the server's answer; returns why it is the end, if it has failed.
    fn learn(&mut self, health: Health, now: Instant) -> Option<String> {
        self.looked = now;
        self.doubt = (self.doubt * 2).clamp(FASTEST_POLL, SLOWEST_POLL);
        match health {
            Health::Ready(_) => self.is_ready = true,
            Health::Progressing(why) => {
                self.failing = None;
                self.say(why, now);
            }
            Health::Failing(why) => {
                let since = *self.failing.get_or_insert(now);
                self.say(why.clone(), now);
                let lasted = now.saturating_duration_since(since);
                if lasted >= PATIENCE {
                    return Some(format!("{why} (for {} s)", lasted.as_secs()));
                }
            }
            Health::Failed(why) => return Some(why),
        }
        None
    }

    /// Decides when it is asked for again, whatever is seen.
    fn plan(&mut self, is_watched: bool) {
        if self.is_planned {
            return;
        }
        let (first, longest) =
            if is_watched { (FIRST_LOOK, SLOWEST_LOOK) } else { (FASTEST_POLL, SLOWEST_POLL) };
        self.look_pause = self.look_pause.clamp(first, longest);
        self.next_look = self.looked + self.look_pause;
        self.look_pause *= 2;
        self.is_planned = true;
    }

    /// Takes what is seen from afar: it says what is missing, and when to ask.
    fn weigh(&mut self, seen: Option<Health>, now: Instant) {
        match seen {
            None => {}
            Some(Health::Progressing(why)) => {
                self.failing = None;
                self.doubt = Duration::ZERO;
                self.say(why, now);
            }
            Some(Health::Failing(why)) => {
                let since = *self.failing.get_or_insert(now);
                self.say(why, now);
                if now.saturating_duration_since(since) >= PATIENCE {
                    self.next_look = self.next_look.min(self.looked + self.doubt);
                }
            }
            Some(Health::Ready(_) | Health::Failed(_)) => {
                self.next_look = self.next_look.min(self.looked + self.doubt);
            }
        }
    }

    /// Returns when something is to be done without a change.
    fn wakes(&self, now: Instant) -> Instant {
        let patience = self.failing.map(|since| since + PATIENCE).filter(|end| *end > now);
        let grace = self.known.status_due.filter(|due| *due > now);
        [patience, grace].into_iter().flatten().fold(self.next_look, Instant::min)
    }

    /// Says what is missing. How a container ended can hold the last lines of its log.
    fn told(&self, now: Instant, secrets: &Secrets) -> WaitingOn {
        WaitingOn {
            object: self.subject.key.to_string(),
            why: secrets.redact(&self.why),
            seconds: now.saturating_duration_since(self.since).as_secs(),
        }
    }
}

/// What a wait follows, each kind and namespace once.
#[derive(Default)]
struct Sights {
    places: BTreeMap<Place, Follow>,
    /// An object was ready, and the watch did not tell.
    is_late: bool,
}

impl Sights {
    /// Follows what an entry needs.
    async fn open(&mut self, context: &Context<'_>, entry: &Entry<'_>) {
        let resource = &entry.subject.resource;
        // Definitions are large, there are many of them, and one is established within moments.
        if resource.gvk.kind == "CustomResourceDefinition" {
            return;
        }
        let namespace = entry.subject.key.namespace.as_deref();
        self.add(context, resource, namespace);
        let around = entry.subject.around(&entry.known);
        if around != Around::Nothing {
            self.add(context, &Resource::pods(), namespace);
        }
        if around == Around::PodsAndSets
            && let Ok(sets) = context.resource(&replica_set()).await
        {
            self.add(context, &sets, namespace);
        }
    }

    fn add(&mut self, context: &Context<'_>, resource: &Resource, namespace: Option<&str>) {
        let place = (resource.gvk.clone(), namespace.map(str::to_owned));
        self.places.entry(place).or_insert_with(|| context.watches.follow(resource, namespace));
    }

    fn get(&self, gvk: &GroupVersionKind, entry: &Entry<'_>) -> Option<&Follow> {
        self.places.get(&(gvk.clone(), entry.subject.key.namespace.clone()))
    }

    fn judge(&self, entry: &Entry<'_>) -> Option<Health> {
        let objects = self.get(&entry.subject.resource.gvk, entry)?;
        let around = entry.subject.around(&entry.known);
        let pods = (around != Around::Nothing).then(|| self.get(&Resource::pods().gvk, entry)).flatten();
        let sets = (around == Around::PodsAndSets).then(|| self.get(&replica_set(), entry)).flatten();
        entry.subject.seen(&entry.known, objects, pods, sets)
    }

    /// Tells whether everything that an entry needs is told as it happens.
    fn is_watched(&self, entry: &Entry<'_>) -> bool {
        let watched = |gvk: &GroupVersionKind| {
            self.get(gvk, entry)
                .is_some_and(|follow| matches!(follow.sight(), Sight::Watched | Sight::Starting))
        };
        !self.is_late
            && watched(&entry.subject.resource.gvk)
            && (entry.subject.around(&entry.known) == Around::Nothing || watched(&Resource::pods().gvk))
    }

    /// Says, once in a run, that changes are noticed later here.
    fn complain(&self, context: &Context<'_>, release: &ReleaseKey) {
        let blind = self.places.iter().find_map(|((gvk, _), follow)| match follow.sight() {
            Sight::Listed(why) | Sight::Blind(why) if !why.is_empty() => Some((gvk, why)),
            _ => None,
        });
        if let Some((gvk, why)) = blind
            && context.says_once()
        {
            let kind = &gvk.kind;
            let text = format!("{kind} objects cannot be watched, so they are looked at every second: {why}");
            context.emit(Event::Noted { key: release.clone(), text });
        }
    }

    async fn changed(&mut self) {
        if self.places.is_empty() {
            return std::future::pending().await;
        }
        let changes = self.places.values_mut().map(|follow| Box::pin(follow.changed()));
        futures::future::select_all(changes).await;
    }
}

/// Waits until every subject is where it should be.
async fn until(
    context: &Context<'_>,
    release: &ReleaseKey,
    subjects: Vec<Subject<'_>>,
    timeout: Duration,
) -> Result<(), StepError> {
    let total = subjects.len();
    let deadline = Instant::now() + timeout;
    let secrets = context.secrets(release).unwrap_or_default();
    let mut waiting: Vec<Entry<'_>> = subjects.into_iter().map(Entry::new).collect();
    let mut sights = Sights::default();
    let mut told: (Vec<WaitingOn>, Option<Instant>) = (Vec::new(), None);
    loop {
        look(context, release, &mut waiting, &mut sights, deadline).await?;
        waiting.retain(|entry| !entry.is_ready);
        if waiting.is_empty() {
            return Ok(());
        }
        for entry in &mut waiting {
            sights.open(context, entry).await;
            entry.plan(sights.is_watched(entry));
            let seen = sights.judge(entry);
            entry.weigh(seen, Instant::now());
        }
        let now = Instant::now();
        if now >= deadline {
            return Err(timed_out(&waiting, timeout, &secrets));
        }
        context.check_stop()?;
        tell(context, release, total, &waiting, &secrets, &mut told);
        sights.complain(context, release);
        let wake = waiting.iter().map(|entry| entry.wakes(now)).fold(deadline, Instant::min);
        tokio::select! {
            () = tokio::time::sleep_until(wake.min(now + HEARTBEAT)) => {}
            () = sights.changed() => tokio::time::sleep_until(now + SETTLE).await,
            _ = context.stop.wait() => {}
        }
    }
}

/// Asks the server for the entries whose turn it is.
///
/// # Errors
/// One of them has failed, or cannot be read.
async fn look(
    context: &Context<'_>,
    release: &ReleaseKey,
    waiting: &mut [Entry<'_>],
    sights: &mut Sights,
    deadline: Instant,
) -> Result<(), StepError> {
    let now = Instant::now();
    let due = waiting.iter_mut().filter(|entry| entry.next_look <= now);
    let looks = due.map(|entry| async move {
        let answer = entry.subject.look(context, &mut entry.known);
        let found = tokio::time::timeout_at(deadline.max(now) + LAST_ANSWER, answer).await;
        (entry, found)
    });
    let mut looks = futures::stream::iter(looks).buffer_unordered(AT_ONCE);
    while let Some((entry, found)) = looks.next().await {
        let health = match found {
            Ok(found) => found?,
            Err(_) => Health::Progressing("the server does not answer".to_owned()),
        };
        if let Health::Ready(Some(note)) = &health {
            let text = format!("{} is ready: {note}", entry.subject.key);
            context.emit(Event::Noted { key: release.clone(), text });
        }
        let is_end = matches!(health, Health::Ready(_) | Health::Failed(_));
        let seen = sights.judge(entry);
        // The first look comes before anything is followed.
        let was_told = !matches!(seen, Some(Health::Progressing(_) | Health::Failing(_)));
        let now = Instant::now();
        sights.is_late |= is_end && !was_told && entry.looked + FIRST_LOOK < now;
        if let Some(why) = entry.learn(health, now) {
            let logs = logs::of_failed(context, release, &entry.subject.key).await;
            let why = context.secrets(release).unwrap_or_default().redact(&why);
            return Err(StepError::NotReady {
                what: entry.subject.key.to_string(),
                why: format!("{why}{logs}"),
            });
        }
        entry.is_planned = false;
    }
    Ok(())
}

/// Tells where a wait stands, if that is new or the last word is a while ago.
fn tell(
    context: &Context<'_>,
    release: &ReleaseKey,
    total: usize,
    waiting: &[Entry<'_>],
    secrets: &Secrets,
    told: &mut (Vec<WaitingOn>, Option<Instant>),
) {
    let now = Instant::now();
    let on: Vec<WaitingOn> = waiting.iter().take(LISTED).map(|entry| entry.told(now, secrets)).collect();
    let same = |(a, b): (&WaitingOn, &WaitingOn)| a.object == b.object && a.why == b.why;
    let is_news = on.len() != told.0.len() || !on.iter().zip(&told.0).all(same);
    if !is_news && told.1.is_some_and(|last| now < last + HEARTBEAT) {
        return;
    }
    let phase = Phase::Waiting { ready: total - waiting.len(), total, on: on.clone() };
    context.emit(Event::Entered { key: release.clone(), phase });
    *told = (on, Some(now));
}

/// Lists what was not ready, what was missing and for how long.
fn timed_out(waiting: &[Entry<'_>], timeout: Duration, secrets: &Secrets) -> StepError {
    let now = Instant::now();
    let mut all = waiting.iter().map(|entry| entry.told(now, secrets));
    let Some(first) = all.next() else {
        let what = "nothing is waited for".to_owned();
        return StepError::TimedOut { what, seconds: timeout.as_secs(), why: String::new() };
    };
    let mut why = format!("{} (for {} s)", first.why, first.seconds);
    let others: Vec<String> = all
        .by_ref()
        .take(LISTED - 1)
        .map(|other| format!("{}: {} (for {} s)", other.object, other.why, other.seconds))
        .collect();
    if !others.is_empty() {
        why = format!("{why}; not ready either: {}", others.join("; "));
    }
    let rest = all.count();
    if rest > 0 {
        why = format!("{why}; and {rest} more");
    }
    StepError::TimedOut { what: format!("{} is not ready", first.object), seconds: timeout.as_secs(), why }
}
