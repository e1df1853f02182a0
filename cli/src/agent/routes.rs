//! The HTTP API.

use super::error::ApiError;
use super::request::{BeatRequest, BeginRequest, EndRequest, LookRequest};
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
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Most bytes of a request's body.
const BODY_MAX: usize = 16 * 1024;
/// How long a body may take to come.
const BODY_WITHIN: Duration = Duration::from_secs(10);
/// The description of the API.
const OPENAPI: &str = include_str!("../../../docs/agent.openapi.yaml");

type Answer = Result<axum::response::Response, ApiError>;

/// The API on `service`.
pub(super) fn router(service: Arc<Service>) -> Router {
    Router::new()
        .route("/v1/jobs", post(begin).get(list))
        .route("/v1/jobs/{job}", get(look))
        .route("/v1/jobs/{job}/beat", post(beat))
        .route("/v1/jobs/{job}/end", post(end))
        .route("/v1/health", get(health))
        .route("/v1/openapi.yaml", get(openapi))
        .fallback(no_such_path)
        .method_not_allowed_fallback(no_such_method)
        .with_state(service)
}

async fn begin(State(service): State<Arc<Service>>, request: Request) -> Answer {
    let wish: BeginRequest = read(request).await?;
    let (tell, told) = oneshot::channel();
    // A task of its own, so that a client that goes away leaves no permit behind that nobody knows.
    tokio::spawn(service.begin(wish, tell));
    let begun = told.await.unwrap_or_else(|_| Err(broken()));
    begun.map(IntoResponse::into_response)
}

async fn beat(State(service): State<Arc<Service>>, job: JobPath, request: Request) -> Answer {
    let job = id(job)?;
    let beat: BeatRequest = read_or_default(request).await?;
    beat.check()?;
    let beaten = whole(async move { service.beat(&job, beat.progress.as_deref()).await });
    Ok(Json(beaten.await?).into_response())
}

async fn end(State(service): State<Arc<Service>>, job: JobPath, request: Request) -> Answer {
    let job = id(job)?;
    let wish: EndRequest = read(request).await?;
    let ended = whole(async move { service.end(&job, wish.outcome).await });
    Ok(Json(ended.await?).into_response())
}

async fn look(
    State(service): State<Arc<Service>>,
    job: JobPath,
    query: Result<Query<LookRequest>, QueryRejection>,
) -> Answer {
    let Query(query) = query.map_err(|rejection| {
        InvalidRequest::new("", "", format!("the query: {}", rejection.body_text()))
    })?;
    let view = service.look(&id(job)?, query.wait()?).await?;
    Ok(Json(view).into_response())
}

async fn list(State(service): State<Arc<Service>>) -> Json<Value> {
    Json(json!({ "jobs": service.list() }))
}

async fn health(State(service): State<Arc<Service>>) -> Json<Value> {
    let book = service.book();
    let status = if book.places.is_stopping() {
        "stopping"
    } else {
        "ok"
    };
    Json(json!({ "status": status, "openJobs": book.open() }))
}

async fn openapi() -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/yaml")], OPENAPI)
}

async fn no_such_path() -> ApiError {
    let message = "no such path; GET /v1/openapi.yaml describes the API";
    ApiError::new(StatusCode::NOT_FOUND, "Agent.NotFound", message)
}

async fn no_such_method() -> ApiError {
    let message = "this path takes another method; GET /v1/openapi.yaml describes the API";
    ApiError::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "Agent.MethodNotAllowed",
        message,
    )
}

type JobPath = Result<Path<String>, PathRejection>;

/// An id that cannot be read is nobody's.
fn id(path: JobPath) -> Result<String, ApiError> {
    path.map(|Path(id)| id).map_err(|_| ApiError::no_such_job())
}

/// Does `work` to its end, even if the client goes away meanwhile.
async fn whole<T: Send + 'static>(
    work: impl Future<Output = Result<T, ApiError>> + Send + 'static,
) -> Result<T, ApiError> {
    tokio::spawn(work).await.unwrap_or_else(|_| Err(broken()))
}

fn broken() -> ApiError {
    let message = "the agent has a fault; its log tells more";
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "Agent.Internal", message)
}

async fn read<T: DeserializeOwned>(request: Request) -> Result<T, ApiError> {
    let (is_json, body) = body(request).await?;
    decode(is_json, &body)
}

/// An empty body is as good as `{}`.
async fn read_or_default<T: DeserializeOwned + Default>(request: Request) -> Result<T, ApiError> {
    let (is_json, body) = body(request).await?;
    if body.is_empty() {
        return Ok(T::default());
    }
    decode(is_json, &body)
}

async fn body(request: Request) -> Result<(bool, Bytes), ApiError> {
    let is_json = is_json(request.headers());
    let body = timeout(BODY_WITHIN, to_bytes(request.into_body(), BODY_MAX)).await;
    let body = body.map_err(|_| {
        let message = format!("the body did not come within {} s", BODY_WITHIN.as_secs());
        ApiError::new(StatusCode::REQUEST_TIMEOUT, "Agent.TooSlow", message)
    })?;
    let body = body.map_err(|_| {
        let message = format!("the body is over {BODY_MAX} bytes, or broke off");
        ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "Agent.TooLarge", message)
    })?;
    Ok((is_json, body))
}

/// A web page in a browser on this machine can send any other type to any port, without being
/// asked whether it may (<https://fetch.spec.whatwg.org/#cors-safelisted-request-header>).
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
    let json: Value = serde_json::from_slice(body)
        .map_err(|error| InvalidRequest::new("", "", format!("the body is no JSON: {error}")))?;
    // Its fields are told by their names, never by their places in a list.
    if !json.is_object() {
        return Err(InvalidRequest::new("", "", "the body is no JSON object").into());
    }
    Ok(parse(json)?)
}
