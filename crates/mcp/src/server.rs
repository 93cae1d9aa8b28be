//! What the client talks to.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dogwatch_base::log::Logged as _;
use dogwatch_core::mcp::{Right, Verb};
use dogwatch_engine::Context;
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorData, Implementation, JsonObject,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities,
    ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use tokio::sync::Semaphore;
use tokio::time::{Instant, interval_at};

use crate::call::{self, Reply, Trouble, arguments};
use crate::news::News;
use crate::{Options, act, changes, read, resources, tools};

/// How often a client that asks for it is told that a call goes on.
const PROGRESS: Duration = Duration::from_secs(10);
/// Calls that are carried out at the same time. Each may start a tmux process.
const AT_ONCE: usize = 6;
/// Locks for what must not happen twice at a time.
const LOCKS: usize = 64;

#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) shared: Arc<Shared>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) context: Arc<Context>,
    pub(crate) options: Options,
    pub(crate) news: News,
    turns: Semaphore,
    pub(crate) locks: [Mutex<()>; LOCKS],
    is_leaving: AtomicBool,
}

impl Server {
    pub(crate) fn new(context: Context, options: Options) -> Self {
        let context = Arc::new(context);
        let news = News::new(Arc::clone(&context));
        Self {
            shared: Arc::new(Shared {
                context,
                options,
                news,
                turns: Semaphore::new(AT_ONCE),
                locks: std::array::from_fn(|_| Mutex::new(())),
                is_leaving: AtomicBool::new(false),
            }),
        }
    }

    /// The client is gone.
    pub(crate) fn leave(&self) {
        self.shared.is_leaving.store(true, Ordering::Relaxed);
        self.shared.news.stop();
    }

    /// Who calls: the session of ours that the server was started in, else the client and the user.
    fn who(&self, client: Option<&Implementation>) -> String {
        let context = &self.shared.context;
        let session = context.store().logged("open the database").and_then(|store| {
            store.by_id(context.caller.session.as_deref()?).logged("find a session")?
        });
        match (session, client) {
            (Some(session), _) => format!("agent {}", session.name),
            (None, Some(client)) => {
                let name = crate::brief::cut(&client.name, 60);
                format!("{} by {name} (MCP)", context.caller.user)
            }
            (None, None) => context.caller.user.clone(),
        }
    }

    /// Runs a use case on a thread of its own, when it is its turn.
    pub(crate) async fn block<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Shared) -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T, Trouble> {
        let _turn = self.shared.turns.acquire().await.map_err(|_| Trouble::Cancelled)?;
        self.block_now(work).await
    }

    async fn block_now<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Shared) -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T, Trouble> {
        let shared = Arc::clone(&self.shared);
        let done = tokio::task::spawn_blocking(move || work(&shared)).await;
        done.unwrap_or_else(|ended| Err(Trouble::Internal(ended.to_string())))
    }

    async fn perform(&self, verb: Verb, given: Option<JsonObject>, cancelled: Cancelled) -> Reply {
        let policy = &self.shared.options.policy;
        call::must_be_allowed(policy, Right::Use(verb), || format!("the tool {}", verb.as_str()))?;
        match verb {
            Verb::Sessions => {
                let args = arguments(given)?;
                self.block(move |shared| read::sessions(shared, &args)).await
            }
            Verb::Why => {
                let args = arguments(given)?;
                self.block(move |shared| read::why(shared, &args)).await
            }
            Verb::Capture => {
                let args = arguments(given)?;
                self.block(move |shared| read::capture(shared, &args)).await
            }
            Verb::JobResult => {
                let args = arguments(given)?;
                self.block(move |shared| read::job_result(shared, &args)).await
            }
            Verb::Since => changes::since(self, arguments(given)?).await,
            Verb::Spawn => {
                let args = arguments(given)?;
                self.block(move |shared| act::spawn(shared, &args)).await
            }
            Verb::Send => {
                let args = arguments(given)?;
                let id = dogwatch_engine::actions::send::new_id();
                cancelled.takes_back(&id);
                // A message may wait for its agent for a while: others need not wait for that.
                self.block_now(move |shared| act::send(shared, &args, &id)).await
            }
            Verb::JobSubmit => {
                let args = arguments(given)?;
                self.block(move |shared| act::job_submit(shared, &args)).await
            }
            Verb::AskPerson => {
                let args = arguments(given)?;
                self.block(move |shared| act::ask_person(shared, &args)).await
            }
            Verb::Answer => {
                let args = arguments(given)?;
                self.block(move |shared| act::answer(shared, &args)).await
            }
        }
    }

    /// Carries the call out; meanwhile the client hears that it goes on, and may cancel it.
    async fn attend(
        &self,
        verb: Verb,
        given: Option<JsonObject>,
        context: &RequestContext<RoleServer>,
    ) -> Reply {
        let cancelled = Cancelled::default();
        let work = self.perform(verb, given, cancelled.clone());
        tokio::pin!(work);
        let token = context.meta.get_progress_token();
        let begun = Instant::now();
        let mut beat = interval_at(begun + PROGRESS, PROGRESS);
        loop {
            tokio::select! {
                reply = &mut work => return reply,
                () = context.ct.cancelled() => {
                    if let Some(id) = cancelled.message() {
                        // Only what was not typed yet is taken back.
                        let taken = self.block_now(move |shared| {
                            Ok(dogwatch_engine::actions::send::cancel(&shared.context, &id)?)
                        });
                        taken.await.logged("take a message back");
                    }
                    return Err(Trouble::Cancelled);
                }
                _ = beat.tick() => {
                    if let Some(token) = &token {
                        let seconds = begun.elapsed().as_secs();
                        let note = ProgressNotificationParam::new(token.clone(), begun.elapsed().as_secs_f64())
                            .with_message(format!("{}: {seconds} s", verb.as_str()));
                        // A client that is gone cancels the call.
                        drop(context.peer.notify_progress(note).await);
                    }
                }
            }
        }
    }
}

/// What is to be taken back if the call is cancelled.
#[derive(Debug, Clone, Default)]
struct Cancelled {
    message: Arc<Mutex<Option<String>>>,
}

impl Cancelled {
    fn takes_back(&self, id: &str) {
        if let Ok(mut message) = self.message.lock() {
            *message = Some(id.to_owned());
        }
    }

    fn message(&self) -> Option<String> {
        self.message.lock().ok()?.clone()
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let can = ServerCapabilities::builder().enable_tools().enable_resources().build();
        ServerConfig::new(can)
            .with_server_info(Implementation::new("dogwatch", env!("CARGO_PKG_VERSION")))
            .with_instructions(tools::INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let policy = &self.shared.options.policy;
        let allowed = Verb::ALL.into_iter().filter(|verb| policy.allows(Right::Use(*verb)));
        Ok(ListToolsResult::with_all_items(allowed.map(tools::describe).collect()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        Verb::from_name(name).map(tools::describe)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(verb) = Verb::from_name(&request.name) else {
            let known = Verb::ALL.map(Verb::as_str).join(", ");
            let name = crate::brief::cut(&request.name, 60);
            let problem = format!("unknown tool {name:?}; tools: {known}");
            return Err(ErrorData::invalid_params(problem, None));
        };
        let session = request.arguments.as_ref().and_then(|given| given.get("session"));
        let session = session.and_then(|name| name.as_str()).map(ToOwned::to_owned);
        let reply = self.attend(verb, request.arguments, &context).await;
        let client = context.client_info();
        let server = self.clone();
        // Recorded before it is answered: whoever has the answer finds the call in the journal.
        let recorded = tokio::task::spawn_blocking(move || {
            let by = server.who(client.as_ref());
            call::record(&server.shared.context, verb, by, session.as_deref(), &reply);
            reply
        });
        let reply =
            recorded.await.unwrap_or_else(|ended| Err(Trouble::Internal(ended.to_string())));
        Ok(call::result(reply).into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let found = self.block(resources::list).await;
        found.map(ListResourcesResult::with_all_items).map_err(internal)
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        let found = self.block(move |shared| resources::read(shared, &uri)).await;
        found.map(Into::into).map_err(|trouble| {
            ErrorData::resource_not_found(format!("error ({}): {trouble}", trouble.code()), None)
        })
    }
}

fn internal(trouble: Trouble) -> ErrorData {
    ErrorData::internal_error(format!("error ({}): {trouble}", trouble.code()), None)
}
