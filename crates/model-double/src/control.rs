//! The endpoints by which a test steers the double.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};

use crate::gates::GateReport;
use crate::log::Request;
use crate::scenario::Scenario;
use crate::server::Stage;

pub(crate) fn routes() -> Router<Arc<Stage>> {
    Router::new()
        .route("/health", get(async || Json(json!({ "ok": true }))))
        .route("/gates", get(gates))
        .route("/release/{name}", post(release))
        .route("/hold/{name}", post(hold))
        .route("/scenario", post(replace_scenario))
        .route("/requests", get(requests))
}

async fn gates(State(stage): State<Arc<Stage>>) -> Json<GateReport> {
    Json(stage.gates.report())
}

async fn release(State(stage): State<Arc<Stage>>, Path(name): Path<String>) -> Json<GateReport> {
    stage.gates.release(&name);
    Json(stage.gates.report())
}

async fn hold(State(stage): State<Arc<Stage>>, Path(name): Path<String>) -> Json<GateReport> {
    stage.gates.hold(&name);
    Json(stage.gates.report())
}

async fn replace_scenario(
    State(stage): State<Arc<Stage>>,
    text: String,
) -> (StatusCode, Json<Value>) {
    match Scenario::parse("scenario", &text) {
        Ok(scenario) => {
            stage.replace_scenario(scenario);
            (StatusCode::OK, Json(json!({ "ok": true })))
        }
        Err(error) => {
            let error = error.to_string();
            (StatusCode::BAD_REQUEST, Json(json!({ "ok": false, "error": error })))
        }
    }
}

async fn requests(State(stage): State<Arc<Stage>>) -> Json<Vec<Request>> {
    Json(stage.journal.requests())
}
