//! The table of causes: what is tried again, what may have been carried out, what is asked.

use std::time::Duration;

use serde_json::json;

use super::*;

fn api(code: u16) -> kube::Error {
    kube::Error::Api(Status { code, message: "said".to_owned(), ..Status::default() }.boxed())
}

fn refused(code: u16) -> Failure {
    Failure::Refused { code, message: "said".to_owned() }
}

fn garbled() -> Cause {
    Cause::of(&kube::Error::SerdeError(serde_json::from_str::<u8>("?").unwrap_err()))
}

/// A call and the time it is looked at; attempts without an answer land within a minute.
struct Call {
    attempts: Attempts,
    now: Instant,
}

impl Call {
    fn new() -> Self {
        Self { attempts: Attempts::default(), now: Instant::now() }
    }

    fn fails(&mut self, cause: Cause) -> Retry {
        self.attempts.failed(cause, self.now + Duration::from_mins(1))
    }

    /// Fails in the same way until it would be given up; the number of attempts and why.
    fn fails_until_over(&mut self, code: u16) -> (u32, Failure) {
        for count in 1..100 {
            if let Retry::GiveUp(failure) = self.fails(Cause::of(&api(code))) {
                return (count, failure);
            }
        }
        panic!("{code} is tried again forever");
    }

    fn asks(&self, failure: &Failure) -> Ask {
        self.attempts.ask(failure, self.now)
    }
}

#[test]
fn causes_are_told_apart_by_the_answer() {
    for code in [502, 503, 504] {
        assert_eq!(Cause::of(&api(code)), Cause::NoAnswer, "{code}");
    }
    assert_eq!(Cause::of(&api(429)), Cause::Busy);
    assert_eq!(Cause::of(&api(401)), Cause::Unauthorized(refused(401)));
    assert_eq!(Cause::of(&api(500)), Cause::ServerError(refused(500)));
    for code in [400, 403, 404, 409, 422] {
        assert_eq!(Cause::of(&api(code)), Cause::Refused(refused(code)), "{code}");
    }
    let lost = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
    assert_eq!(Cause::of(&kube::Error::Service(lost.into())), Cause::NoAnswer);
    assert!(matches!(garbled(), Cause::Garbled(_)));
}

#[test]
fn a_used_up_disruption_budget_is_a_refusal() {
    let details = json!({"causes": [{"reason": "DisruptionBudget"}]});
    let status = json!({"code": 429, "message": "said", "details": details});
    let status: Status = serde_json::from_value(status).unwrap();
    assert_eq!(Cause::of(&kube::Error::Api(status.boxed())), Cause::Refused(refused(429)));
}

#[test]
fn each_cause_has_its_own_count() {
    let mut call = Call::new();
    for _ in 0..50 {
        assert_eq!(call.fails(Cause::NoAnswer), Retry::Again);
        assert_eq!(call.fails(Cause::Busy), Retry::Again);
    }
    assert_eq!(call.fails_until_over(401), (5, refused(401)));
    assert_eq!(call.fails_until_over(500), (5, refused(500)), "401 took none of these");
    assert_eq!(call.fails_until_over(403), (1, refused(403)));
}

#[test]
fn a_call_that_was_refused_and_nothing_else_needs_no_question() {
    for code in [400, 401, 403, 404, 422] {
        let mut call = Call::new();
        assert_eq!(call.fails(Cause::Busy), Retry::Again);
        let (_, failure) = call.fails_until_over(code);
        assert_eq!(call.asks(&failure), Ask::No, "{code}");
    }
}

#[test]
fn a_call_without_an_answer_is_asked_about_whatever_is_answered_later() {
    for code in [400, 401, 403, 404, 409, 422, 500] {
        let mut call = Call::new();
        assert_eq!(call.fails(Cause::NoAnswer), Retry::Again);
        let (_, failure) = call.fails_until_over(code);
        assert_eq!(call.asks(&failure), Ask::AndRetry, "{code}: it may still land");
        call.now += Duration::from_secs(61);
        if code != 409 {
            assert_eq!(call.asks(&failure), Ask::Once, "{code}: it has landed or never will");
        }
        // Time-outs begun later land later.
        assert_eq!(call.fails(Cause::NoAnswer), Retry::Again);
        assert_eq!(call.asks(&failure), Ask::AndRetry, "{code}");
    }
    let mut call = Call::new();
    assert_eq!(call.fails(Cause::NoAnswer), Retry::Again);
    assert_eq!(call.asks(&Failure::NotLeading), Ask::AndRetry);
}

#[test]
fn an_error_of_the_server_and_an_answer_without_sense_are_asked_about_once() {
    let mut call = Call::new();
    let (_, failure) = call.fails_until_over(500);
    assert_eq!(call.asks(&failure), Ask::Once);
    let mut call = Call::new();
    let Retry::GiveUp(failure) = call.fails(garbled()) else { panic!("it is an answer") };
    assert_eq!(call.asks(&failure), Ask::Once);
}

#[test]
fn a_conflict_is_asked_about_and_tried_again_three_times() {
    let mut call = Call::new();
    for attempt in 1..=4 {
        let (_, failure) = call.fails_until_over(409);
        let expected = if attempt <= 3 { Ask::AndRetry } else { Ask::Once };
        assert_eq!(call.asks(&failure), expected, "attempt {attempt}");
    }
    assert_eq!(call.attempts.conflicts(), 4);
}
