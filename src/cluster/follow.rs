//! Objects as they are now: one watch for each kind and namespace, shared by everybody who waits there.
//!
//! A watch starts from the version of a list, goes on where it was cut, and starts anew where the server has forgotten
//! that version (410). Every minute the list is made anew all the same. Where watching is not allowed, lists are all
//! there is; where those are not allowed either, whoever waits has to look for himself.
//!
//! What is followed may be late. It tells when to look, and is never the last word.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::api::ApiError;
use super::discovery::Resource;
use super::read::{ListOptions, Reader};
use super::watch::Change;
use crate::model::GroupVersionKind;

/// Kinds and namespaces that are followed at once. Each is a connection, and files are limited.
const MOST: usize = 128;

/// A watch that was open for so long worked, even if there was nothing to tell.
const LASTING: Duration = Duration::from_secs(1);

/// How fast a watch is taken up again, and how often everything is listed.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// The pause after a watch that told something.
    pub shortest: Duration,
    /// The pause grows to this while nothing works.
    pub longest: Duration,
    /// Between two lists.
    pub relist: Duration,
    /// Between two lists where nothing can be watched.
    pub poll: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Pace {
            shortest: Duration::from_millis(100),
            longest: Duration::from_secs(5),
            relist: Duration::from_secs(60),
            poll: Duration::from_secs(1),
        }
    }
}

/// How far what is followed can be relied upon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sight {
    /// Nothing is known yet.
    Starting,
    /// Changes arrive when they happen.
    Watched,
    /// Changes are noticed by the next list; the reason why.
    Listed(String),
    /// Nothing is to be had here; the reason why.
    Blind(String),
}

/// The watches of a run. They end with it.
pub struct Watches {
    reader: Reader,
    pace: Pace,
    followed: Mutex<Followed>,
}

type Place = (GroupVersionKind, Option<String>);

#[derive(Default)]
struct Followed {
    entries: BTreeMap<Place, Entry>,
    /// Counts uses, to find the one that is out of use the longest.
    clock: u64,
}

struct Entry {
    shared: Arc<Shared>,
    task: AbortHandle,
    used: u64,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Shared {
    seen: Mutex<Seen>,
    version: watch::Sender<u64>,
}

struct Seen {
    sight: Sight,
    objects: BTreeMap<String, Arc<Value>>,
}

/// The objects of a kind in a namespace, as far as they are known.
pub struct Follow {
    shared: Option<Arc<Shared>>,
    changes: Option<watch::Receiver<u64>>,
}

impl Watches {
    /// Returns watches that nobody uses yet.
    pub fn new(reader: Reader, pace: Pace) -> Self {
        Self { reader, pace, followed: Mutex::default() }
    }

    /// Follows a kind, in one namespace or in all. The watch is kept afterwards, for whoever comes next, as long as
    /// there is room.
    #[expect(
        clippy::disallowed_methods,
        reason = "the task ends with the entry, and the entries with the run"
    )]
    pub fn follow(&self, resource: &Resource, namespace: Option<&str>) -> Follow {
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        followed.clock += 1;
        let clock = followed.clock;
        let place = (resource.gvk.clone(), namespace.map(str::to_owned));
        if let Some(entry) = followed.entries.get_mut(&place) {
            entry.used = clock;
            return Follow::of(&entry.shared);
        }
        if !resource.is_watchable() {
            return Follow::blind();
        }
        if followed.entries.len() >= MOST {
            let idle =
                followed.entries.iter().filter(|(_, entry)| entry.shared.version.receiver_count() == 0);
            let oldest = idle.min_by_key(|(_, entry)| entry.used).map(|(place, _)| place.clone());
            let Some(oldest) = oldest else { return Follow::blind() };
            followed.entries.remove(&oldest);
        }
        let seen = Mutex::new(Seen { sight: Sight::Starting, objects: BTreeMap::new() });
        let shared = Arc::new(Shared { seen, version: watch::Sender::new(0) });
        let follow = Follow::of(&shared);
        let keeper = Keeper {
            reader: self.reader.clone(),
            resource: resource.clone(),
            namespace: place.1.clone(),
            pace: self.pace,
            pause: self.pace.shortest,
            shared: Arc::clone(&shared),
        };
        let task = tokio::spawn(keeper.keep()).abort_handle();
        followed.entries.insert(place, Entry { shared, task, used: clock });
        follow
    }
}

impl Follow {
    fn of(shared: &Arc<Shared>) -> Self {
        Self { shared: Some(Arc::clone(shared)), changes: Some(shared.version.subscribe()) }
    }

    /// Returns one that sees nothing.
    pub fn blind() -> Self {
        Self { shared: None, changes: None }
    }

    /// Tells how far it can be relied upon.
    pub fn sight(&self) -> Sight {
        self.seen(|seen| seen.sight.clone()).unwrap_or_else(|| Sight::Blind(String::new()))
    }

    /// Tells whether the objects are known at all.
    pub fn sees(&self) -> bool {
        self.seen(|seen| matches!(seen.sight, Sight::Watched | Sight::Listed(_))).unwrap_or(false)
    }

    /// Returns an object by its name.
    pub fn get(&self, name: &str) -> Option<Arc<Value>> {
        self.seen(|seen| seen.objects.get(name).cloned()).flatten()
    }

    /// Returns the objects that `keep` takes, in the order of their names.
    pub fn filtered(&self, keep: impl Fn(&Value) -> bool) -> Vec<Arc<Value>> {
        let found = self.seen(|seen| seen.objects.values().filter(|object| keep(object)).cloned().collect());
        found.unwrap_or_default()
    }

    /// Waits until something is another than at the last call; for ever, where nothing is seen.
    pub async fn changed(&mut self) {
        if let Some(changes) = &mut self.changes
            && changes.changed().await.is_ok()
        {
            return;
        }
        std::future::pending().await
    }

    fn seen<T>(&self, ask: impl FnOnce(&Seen) -> T) -> Option<T> {
        let shared = self.shared.as_ref()?;
        Some(ask(&shared.seen.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl Shared {
    fn change(&self, change: impl FnOnce(&mut Seen)) {
        change(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner));
        self.version.send_modify(|version| *version += 1);
    }

    fn replace(&self, objects: Vec<Value>, gvk: &GroupVersionKind) {
        let named = objects.into_iter().filter_map(|object| Some((name(&object)?, kept(object, gvk))));
        let objects = named.collect();
        self.change(|seen| {
            seen.objects = objects;
            if !matches!(seen.sight, Sight::Listed(_)) {
                seen.sight = Sight::Watched;
            }
        });
    }
}

/// What keeps the objects of one kind and namespace up to date.
struct Keeper {
    reader: Reader,
    resource: Resource,
    namespace: Option<String>,
    pace: Pace,
    pause: Duration,
    shared: Arc<Shared>,
}

/// What comes after a watch.
enum Next {
    /// The list is made anew.
    List,
    /// Watching will never work here.
    Never(String),
}

impl Keeper {
    async fn keep(mut self) {
        let mut never = None;
        loop {
            let options = ListOptions::default();
            let namespace = self.namespace.as_deref();
            match self.reader.list_at(&self.resource, namespace, &options, |_| true).await {
                Ok((objects, version)) => {
                    self.shared.replace(objects, &self.resource.gvk);
                    if never.is_some() || version.is_empty() {
                        tokio::time::sleep(self.pace.poll).await;
                        continue;
                    }
                    if let Next::Never(why) = self.watch(version).await {
                        self.shared.change(|seen| seen.sight = Sight::Listed(why.clone()));
                        never = Some(why);
                    }
                }
                Err(error) if is_final(&error) => {
                    self.shared.change(|seen| seen.sight = Sight::Blind(error.to_string()));
                    return;
                }
                Err(_) => self.rest().await,
            }
        }
    }

    /// Watches from a version on, for as long as that works and no list is due.
    async fn watch(&mut self, mut version: String) -> Next {
        let relist = Instant::now() + self.pace.relist;
        loop {
            let time = relist.saturating_duration_since(Instant::now());
            let opened = self.reader.watch(&self.resource, self.namespace.as_deref(), &version, time).await;
            match opened {
                Ok(mut changes) => {
                    let opened = Instant::now();
                    let mut told = false;
                    loop {
                        // A connection that nobody serves any more says nothing, not even that it has ended.
                        match tokio::time::timeout_at(relist, changes.next()).await {
                            Err(_) => return Next::List,
                            Ok(Ok(Some(change))) => {
                                told = true;
                                self.take(change, &mut version);
                            }
                            Ok(Ok(None)) => break,
                            Ok(Err(error)) if error.is_status(410) => {
                                self.rest().await;
                                return Next::List;
                            }
                            Ok(Err(_)) => break,
                        }
                    }
                    if told || opened.elapsed() >= LASTING {
                        self.pause = self.pace.shortest;
                    }
                }
                Err(error) if error.is_status(410) => {
                    self.rest().await;
                    return Next::List;
                }
                Err(error) if is_final(&error) => return Next::Never(error.to_string()),
                Err(_) => {}
            }
            if Instant::now() >= relist {
                return Next::List;
            }
            self.rest().await;
        }
    }

    fn take(&self, change: Change, version: &mut String) {
        let (object, is_there) = match change {
            Change::Passed(passed) => {
                *version = passed;
                return;
            }
            Change::Put(object) => (object, true),
            Change::Gone(object) => (object, false),
        };
        if let Some(new) = object["metadata"]["resourceVersion"].as_str() {
            new.clone_into(version);
        }
        let Some(name) = name(&object) else { return };
        let object = kept(object, &self.resource.gvk);
        self.shared.change(|seen| {
            if is_there {
                seen.objects.insert(name, object);
            } else {
                seen.objects.remove(&name);
            }
        });
    }

    async fn rest(&mut self) {
        tokio::time::sleep(self.pause).await;
        self.pause = (self.pause * 2).min(self.pace.longest);
    }
}

/// Tells whether asking again cannot help: the user has no right, or the kind cannot be asked for.
fn is_final(error: &ApiError) -> bool {
    [403, 404, 405].into_iter().any(|status| error.is_status(status))
}

fn name(object: &Value) -> Option<String> {
    object["metadata"]["name"].as_str().map(str::to_owned)
}

/// Returns what is kept of an object: no list of field owners, which takes the most room, and the kind, which the
/// elements of a list do not say.
fn kept(mut object: Value, gvk: &GroupVersionKind) -> Arc<Value> {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    object["apiVersion"] = gvk.api_version().into();
    object["kind"] = gvk.kind.clone().into();
    Arc::new(object)
}
