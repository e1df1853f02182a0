//! The HTTP API.
//!
//! A handler reads the request and leaves the rest to [`Service`]. Whatever changes a lock runs in a task of
//! its own. So a client that disconnects in the middle leaves neither a permit without a job nor a job
//! without its end.

use super::error::ApiError;
use super::job::JobOutcome;
use super::request::{BeatRequest, BeginRequest, EndRequest, GetRequest};
use super::response::{Health, HealthStatus, Jobs};
use super::service::Service;
use axum::body::{Bytes, to_bytes};
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use axum::routing::{get, post};
use axum::{Json, Router};
use lockstep::contract::{InvalidRequest, parse};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Longest request body, in bytes.
const BODY_MAX: usize = 16 * 1024;
/// Longest time in which a client may send the body.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// The description of the API.
const OPENAPI: &str = include_str!("agent.openapi.yaml");

type HandlerResult = Result<axum::response::Response, ApiError>;

/// Returns the routes of the API, which call `service`.
pub(super) fn router(service: Arc<Service>) -> Router {
    Router::new()
        .route("/v1/jobs", post(begin).get(list))
        .route("/v1/jobs/{job}", get(get_job))
        .route("/v1/jobs/{job}/beat", post(beat))
        .route("/v1/jobs/{job}/end", post(end))
        .route("/v1/health", get(health))
        .route("/v1/openapi.yaml", get(openapi))
        .fallback(no_such_path)
        .method_not_allowed_fallback(no_such_method)
        .with_state(service)
}

async fn begin(State(service): State<Arc<Service>>, request: Request) -> HandlerResult {
    let request: BeginRequest = read(request).await?;
    let (reply, response) = oneshot::channel();
    // Runs in a task of its own, so that a client that disconnects leaves no permit behind.
    tokio::spawn(service.begin(request, reply));
    let begun = response.await.unwrap_or_else(|_| Err(internal()));
    begun.map(IntoResponse::into_response)
}

async fn beat(
    State(service): State<Arc<Service>>,
    job: JobPath,
    request: Request,
) -> HandlerResult {
    let job = id(job)?;
    let beat: BeatRequest = read_or_default(request).await?;
    beat.check()?;
    let beaten = detached(async move { service.beat(&job, beat.progress.as_deref()).await });
    Ok(Json(beaten.await?).into_response())
}

async fn end(State(service): State<Arc<Service>>, job: JobPath, request: Request) -> HandlerResult {
    let job = id(job)?;
    let request: EndRequest = read(request).await?;
    let failed = request.outcome == JobOutcome::Failed;
    let failure = failed.then_some("the program reported that the job failed");
    let ended = detached(async move { service.end(&job, request.outcome, failure).await });
    Ok(Json(ended.await?).into_response())
}

async fn get_job(
    State(service): State<Arc<Service>>,
    job: JobPath,
    query: Result<Query<GetRequest>, QueryRejection>,
) -> HandlerResult {
    let Query(query) = query.map_err(|rejection| {
        InvalidRequest::new("", "", format!("the query: {}", rejection.body_text()))
    })?;
    let view = service.get(&id(job)?, query.wait()?).await?;
    Ok(Json(view).into_response())
}

async fn list(State(service): State<Arc<Service>>) -> Json<Jobs> {
    let jobs = service.list();
    Json(Jobs { jobs })
}

async fn health(State(service): State<Arc<Service>>) -> Json<Health> {
    let registry = service.registry();
    Json(Health {
        status: if registry.capacity.is_stopping() {
            HealthStatus::Stopping
        } else {
            HealthStatus::Ok
        },
        open_jobs: registry.open(),
    })
}

async fn openapi() -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/yaml")], OPENAPI)
}

async fn no_such_path() -> ApiError {
    let message = "the API has no such path; GET /v1/openapi.yaml describes the API";
    ApiError::new(StatusCode::NOT_FOUND, "Agent.NotFound", message)
}

async fn no_such_method() -> ApiError {
    let message = "this path does not support the method of the request; GET /v1/openapi.yaml describes the API";
    ApiError::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "Agent.MethodNotAllowed",
        message,
    )
}

type JobPath = Result<Path<String>, PathRejection>;

/// Returns the id in the path. A path that cannot be decoded counts as the id of no job.
fn id(path: JobPath) -> Result<String, ApiError> {
    path.map(|Path(id)| id).map_err(|_| ApiError::no_such_job())
}

/// Runs `work` to its end, even if the client disconnects.
async fn detached<T: Send + 'static>(
    work: impl Future<Output = Result<T, ApiError>> + Send + 'static,
) -> Result<T, ApiError> {
    tokio::spawn(work).await.unwrap_or_else(|_| Err(internal()))
}

/// Returns the error for a task that panicked. Whether the task has changed a lock is unknown, so the status
/// is a 5xx.
fn internal() -> ApiError {
    let message = "the agent failed with an internal error; its log has the cause";
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "Agent.Internal", message)
}

async fn read<T: DeserializeOwned>(request: Request) -> Result<T, ApiError> {
    let (is_json, body) = body(request).await?;
    decode(is_json, &body)
}

/// Reads a request as [`read`] does; an empty body stands for the default.
async fn read_or_default<T: DeserializeOwned + Default>(request: Request) -> Result<T, ApiError> {
    let (is_json, body) = body(request).await?;
    if body.is_empty() {
        return Ok(T::default());
    }
    decode(is_json, &body)
}

/// Reads the body, with a limit on its size and time: a client that sends half a request must not keep its
/// connection forever. Returns whether it is JSON by its header, and the body.
async fn body(request: Request) -> Result<(bool, Bytes), ApiError> {
    let is_json = is_json(request.headers());
    let body = timeout(BODY_TIMEOUT, to_bytes(request.into_body(), BODY_MAX)).await;
    let body = body.map_err(|_| {
        let message = format!(
            "the whole body did not arrive within {} s",
            BODY_TIMEOUT.as_secs()
        );
        ApiError::new(StatusCode::REQUEST_TIMEOUT, "Agent.TooSlow", message)
    })?;
    let body = body.map_err(|_| {
        let message =
            format!("the body is longer than {BODY_MAX} bytes, or its connection broke off");
        ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "Agent.TooLarge", message)
    })?;
    Ok((is_json, body))
}

/// Returns whether the body is JSON by its header `Content-Type`. A web page in a browser on this machine can
/// send some other types to any port without a CORS preflight
/// (<https://fetch.spec.whatwg.org/#cors-safelisted-request-header>), but not this one.
fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next());
    kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

fn decode<T: DeserializeOwned>(is_json: bool, body: &[u8]) -> Result<T, ApiError> {
    if !is_json {
        let message = "the body has to be JSON, with the header Content-Type: application/json";
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        return Err(ApiError::new(status, "Agent.NotJson", message));
    }
    let json: Value = serde_json::from_slice(body).map_err(|error| {
        InvalidRequest::new("", "", format!("the body is not valid JSON: {error}"))
    })?;
    // `serde` would also read a struct from a JSON array.
    if !json.is_object() {
        return Err(InvalidRequest::new("", "", "the body is not a JSON object").into());
    }
    Ok(parse(json)?)
}
