//! What the client talks to.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dogwatch_base::log::Logged as _;
use dogwatch_core::mcp::{Right, Verb};
use dogwatch_engine::Context;
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ErrorCode, ErrorData,
    Implementation, JsonObject, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, ReadResourceRequestParams,
    ReadResourceResponse, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use tokio::sync::Semaphore;
use tokio::time::{Instant, interval_at};

use crate::call::{self, Reply, Trouble, arguments};
use crate::news::News;
use crate::resources::Address;
use crate::{Options, act, changes, read, resources, tools};

/// What is recorded of a call that acts before it does.
const STARTED: &str = "started";
/// Interval of progress messages to a client that asks for them.
const PROGRESS: Duration = Duration::from_secs(10);
/// Calls that are carried out at the same time. Each may start a tmux process.
const AT_ONCE: usize = 6;
/// Messages that wait for their agents at the same time, each on a thread: half of all threads, so that others have some.
const SENDS: usize = crate::MOST_THREADS / 2;
/// Methods of ours, for requests whose parameters cannot be read.
const METHODS: [&str; 5] =
    ["tools/call", "tools/list", "resources/list", "resources/read", "resources/templates/list"];
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
    /// For `send`, which may wait for its agent for a while: others need not wait for that.
    sends: Semaphore,
    pub(crate) locks: [Mutex<()>; LOCKS],
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
                sends: Semaphore::new(SENDS),
                locks: std::array::from_fn(|_| Mutex::new(())),
            }),
        }
    }

    /// The client is gone.
    pub(crate) fn leave(&self) {
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

    /// The same for a call, which may be cancelled while it waits for its turn. What has begun is carried to its end.
    async fn run(
        &self,
        turns: &Semaphore,
        call: &Call<'_>,
        work: impl FnOnce(&Shared) -> Reply + Send + 'static,
    ) -> Reply {
        let _turn = tokio::select! {
            turn = turns.acquire() => turn.map_err(|_| Trouble::Cancelled)?,
            () = call.context.ct.cancelled() => return Err(Trouble::Cancelled),
        };
        let is_cancelled = Arc::clone(&call.is_cancelled);
        self.block_now(move |shared| {
            if is_cancelled.load(Ordering::SeqCst) {
                return Err(Trouble::Cancelled);
            }
            work(shared)
        })
        .await
    }

    async fn perform(&self, verb: Verb, given: Option<JsonObject>, call: &Call<'_>) -> Reply {
        let policy = &self.shared.options.policy;
        call::must_be_allowed(policy, Right::Use(verb), || format!("the tool {}", verb.as_str()))?;
        let turns = &self.shared.turns;
        match verb {
            Verb::Sessions => {
                let args = arguments(given)?;
                self.run(turns, call, move |shared| read::sessions(shared, &args)).await
            }
            Verb::Why => {
                let args = arguments(given)?;
                self.run(turns, call, move |shared| read::why(shared, &args)).await
            }
            Verb::Capture => {
                let args = arguments(given)?;
                self.run(turns, call, move |shared| read::capture(shared, &args)).await
            }
            Verb::JobResult => {
                let args = arguments(given)?;
                self.run(turns, call, move |shared| read::job_result(shared, &args)).await
            }
            Verb::Since => changes::since(self, arguments(given)?).await,
            Verb::Spawn => {
                let args = arguments(given)?;
                self.run(turns, call, move |shared| act::spawn(shared, &args)).await
            }
            Verb::Send => {
                let args = arguments(given)?;
                let (id, is_cancelled) = (call.message.clone(), Arc::clone(&call.is_cancelled));
                let work = move |shared: &Shared| act::send(shared, &args, &id, &is_cancelled);
                self.run(&self.shared.sends, call, work).await
            }
            Verb::JobSubmit => {
                let args = arguments(given)?;
                self.run(turns, call, move |shared| act::job_submit(shared, &args)).await
            }
            Verb::AskPerson => {
                let args = arguments(given)?;
                self.run(turns, call, move |shared| act::ask_person(shared, &args)).await
            }
            Verb::Answer => {
                let args = arguments(given)?;
                self.run(turns, call, move |shared| act::answer(shared, &args)).await
            }
        }
    }

    /// Carries the call out; meanwhile the client hears that it goes on, and may cancel it. Its result is what really happened.
    async fn attend(
        &self,
        verb: Verb,
        given: Option<JsonObject>,
        context: &RequestContext<RoleServer>,
    ) -> Reply {
        let call = Call {
            context,
            message: dogwatch_engine::actions::send::new_id(),
            is_cancelled: Arc::default(),
        };
        let work = self.perform(verb, given, &call);
        tokio::pin!(work);
        let token = context.meta.get_progress_token();
        let begun = Instant::now();
        let mut beat = interval_at(begun + PROGRESS, PROGRESS);
        loop {
            tokio::select! {
                reply = &mut work => return reply,
                () = context.ct.cancelled(), if !call.is_cancelled.load(Ordering::SeqCst) => {
                    call.is_cancelled.store(true, Ordering::SeqCst);
                    match verb {
                        Verb::Since => return Err(Trouble::Cancelled),
                        Verb::Send => self.take_back(&call).await,
                        _ => {}
                    }
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

    /// Takes back a message that was not typed yet. One that is not posted yet is not posted: the flag was set before.
    async fn take_back(&self, call: &Call<'_>) {
        let id = call.message.clone();
        let taken = self.block_now(move |shared| {
            Ok(dogwatch_engine::actions::send::cancel(&shared.context, &id)?)
        });
        taken.await.logged("take a message back");
    }

    /// Records a call. Awaited before it is answered: whoever has the answer finds the call in the journal.
    async fn record(
        &self,
        verb: Verb,
        client: Option<Implementation>,
        session: Option<String>,
        outcome: &'static str,
    ) {
        let server = self.clone();
        let recorded = tokio::task::spawn_blocking(move || {
            let by = server.who(client.as_ref());
            call::record(&server.shared.context, verb, by, session.as_deref(), outcome);
        });
        recorded.await.logged("record a call");
    }

    fn allows(&self, verb: Verb) -> bool {
        self.shared.options.policy.allows(Right::Use(verb))
    }
}

/// A call of a tool.
#[derive(Debug)]
struct Call<'a> {
    context: &'a RequestContext<RoleServer>,
    /// The id of the message that it sends.
    message: String,
    is_cancelled: Arc<AtomicBool>,
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
        let client = context.client_info();
        if verb.acts() && self.allows(verb) {
            // Should we be killed: that it was called is known.
            self.record(verb, client.clone(), session.clone(), STARTED).await;
        }
        let reply = self.attend(verb, request.arguments, &context).await;
        let session = session.or_else(|| call::about(&reply));
        self.record(verb, client, session, call::outcome(&reply)).await;
        Ok(call::result(reply).into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        if !self.allows(Verb::Sessions) {
            return Ok(ListResourcesResult::with_all_items(Vec::new()));
        }
        let found = self.block(resources::list).await;
        let outcome = found.as_ref().map_or_else(Trouble::code, |_| "ok");
        self.record(Verb::Sessions, context.client_info(), None, outcome).await;
        found.map(ListResourcesResult::with_all_items).map_err(|trouble| resources::error(&trouble))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let found = if self.allows(Verb::Why) { resources::templates() } else { Vec::new() };
        Ok(ListResourceTemplatesResult::with_all_items(found))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        let Some(address) = Address::parse(&uri) else { return Err(resources::unknown(&uri)) };
        let (verb, session) = (address.verb(), address.session().map(ToOwned::to_owned));
        let policy = &self.shared.options.policy;
        let allowed = call::must_be_allowed(policy, Right::Use(verb), || uri.clone());
        let read = match allowed {
            Ok(()) => self.block(move |shared| resources::read(shared, &address)).await,
            Err(trouble) => Err(trouble),
        };
        self.record(verb, context.client_info(), session, call::outcome(&read)).await;
        let value = read.map_err(|trouble| resources::error(&trouble))?;
        Ok(resources::contents(&uri, &value).into())
    }

    /// Also comes here: a request of a known method whose parameters cannot be read.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = crate::brief::cut(&request.method, 60);
        if !METHODS.contains(&request.method.as_str()) {
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None));
        }
        let wanted = match request.method.as_str() {
            "tools/call" => "`name` must be a string and `arguments` an object",
            "resources/read" => "`uri` must be a string",
            _ => "they must be an object, and `cursor` a string",
        };
        Err(ErrorData::invalid_params(format!("bad params of {method}: {wanted}"), None))
    }
}
