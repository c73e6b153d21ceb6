//! Budgets hold, whatever fails and however many ask at once.

use std::time::Duration;

use gbrain_core::id::WorkspaceId;
use gbrain_core::money::Usd;
use gbrain_llm::{ModelCallErrorKind, ModelLimits, Spending};
use gbrain_store::{Budget, ChargeState};
use gbrain_testkit::providers::Fault;

use crate::site::{LIMITS, Site, chat, model};

/// Faults of every kind, by the number of the request.
fn mixed(number: u64) -> Fault {
    match number % 11 {
        2 => Fault::Status(429, None),
        3 => Fault::Status(500, None),
        5 => Fault::Cut,
        6 => Fault::Garbage,
        7 => Fault::Empty,
        8 if number.is_multiple_of(5) => Fault::Hang(Duration::from_millis(600)),
        _ => Fault::None,
    }
}

/// The short form of `cargo xtask campaign budget`, in one process and without kills.
#[test]
fn a_budget_is_never_passed_and_no_call_is_lost() {
    let site = Site::new(mixed);
    let budget: Usd = "0.02".parse().unwrap();
    let client = site.client("0.02");
    let names = ["anthropic:m", "openai:m", "google:m", "ollama:m"];
    let (answered, over) = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..16)
            .map(|worker| {
                let client = &client;
                scope.spawn(move || {
                    let (mut answered, mut over) = (0, 0);
                    for n in 0..12 {
                        let text = format!("question {worker} {n} {}", "x".repeat(n * 20));
                        let name = names[(worker + n) % names.len()];
                        match client.chat(&model(name), &chat(&text)) {
                            Ok((said, _)) => {
                                assert_eq!(said, format!("you said {text}"));
                                answered += 1;
                            }
                            Err(error) if error.kind == ModelCallErrorKind::OverBudget => over += 1,
                            Err(_) => {}
                        }
                    }
                    (answered, over)
                })
            })
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap())
            .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    });
    assert!(answered > 0 && over > 0, "{answered} answered, {over} over budget");
    let charges = site.store.charges(&WorkspaceId::default(), "run").unwrap();
    assert_eq!(charges.len() as u64, site.server.requests(), "one charge a request");
    assert!(charges.iter().all(|charge| charge.state != ChargeState::Reserved));
    assert!(site.charged() <= budget, "{}", site.charged());
    // The provider bills at most the charge, and exactly the charge if it reported usage.
    let cost = |input: u64, output: u64| Usd::nanos((input * 1000 + output * 2000) as i64);
    let billed: Usd = site.server.billed().iter().map(|one| cost(one.input, one.output)).sum();
    assert!(billed <= site.charged(), "{billed} billed, {} charged", site.charged());
    let told: Usd = site
        .server
        .billed()
        .iter()
        .filter(|one| one.told)
        .map(|one| cost(one.input, one.output))
        .sum();
    let settled = charges.iter().filter(|charge| charge.state == ChargeState::Settled);
    assert_eq!(settled.filter_map(|charge| charge.actual).sum::<Usd>(), told);
    let sum: Usd = charges.iter().map(|charge| charge.actual.unwrap_or(charge.worst)).sum();
    assert_eq!(sum, site.charged());
}

/// A budget with room for one worst case serves any number of calls, one after another.
#[test]
fn queued_calls_reserve_no_budget() {
    let site = Site::new(|_| Fault::None);
    let limits = ModelLimits { concurrency: 1, ..LIMITS };
    let worst = site.client("1").max_chat_cost(&model("openai:m"), &chat("hello")).unwrap();
    let cap = worst + worst.saturating_sub(Usd::nanos(1));
    let budget = Some(Budget { name: "run".to_owned(), cap });
    let client = site.client_with(limits).spending(Spending { budget, ..site.spending("1") });
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| client.chat(&model("openai:m"), &chat("hello")).unwrap());
        }
    });
    assert!(site.charged() <= cap);
}

#[test]
fn a_day_has_a_budget_of_its_own() {
    let site = Site::new(|_| Fault::None);
    let spending = Spending { per_day: Some("0.0004".parse().unwrap()), ..site.spending("1") };
    let client = site.asker_without_money().spending(spending.clone());
    client.chat(&model("openai:m"), &chat("x")).unwrap();
    let error = client.chat(&model("openai:m"), &chat(&"x".repeat(400))).unwrap_err();
    assert_eq!(error.kind, ModelCallErrorKind::OverBudget);
    assert!(error.message.contains("day:"), "{error}");
    // Without a budget of the run, the day's is charged alone.
    let client = site.asker_without_money().spending(Spending { budget: None, ..spending.clone() });
    client.chat(&model("openai:m"), &chat("x")).unwrap();
    let none = Spending { budget: None, per_day: None, ..spending };
    let client = site.asker_without_money().spending(none);
    assert_eq!(
        client.chat(&model("openai:m"), &chat("x")).unwrap_err().kind,
        ModelCallErrorKind::OverBudget
    );
}

#[test]
fn the_worst_case_is_not_below_what_it_costs() {
    let site = Site::new(|_| Fault::None);
    let client = site.client("1");
    for name in ["anthropic:m", "openai:m", "google:m", "ollama:m"] {
        let chat = chat(&"wörter und 日本語 ".repeat(15));
        let worst = client.max_chat_cost(&model(name), &chat).unwrap();
        let (_, bill) = client.chat(&model(name), &chat).unwrap();
        assert!(bill.cost <= worst, "{name}");
    }
}
