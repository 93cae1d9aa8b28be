//! The figures reached so far. They may rise; whoever makes one fall has to say why.

use dogwatch_scoreboard::corpus::{Corpus, Input};
use dogwatch_scoreboard::score::Score;

fn right(corpus: &Corpus, input: Input) -> (usize, usize) {
    let total = Score::of(corpus, input).total();
    (total.right, total.all)
}

#[test]
fn given_screens() {
    let corpus = Corpus::given().unwrap();
    assert_eq!(right(&corpus, Input::Styled), (146, 146));
    assert_eq!(right(&corpus, Input::Plain), (146, 146));
    assert_eq!(right(&corpus, Input::Bare), (146, 146));
}

#[test]
fn recorded_screens() {
    let corpus = Corpus::recorded().unwrap();
    for (input, reached) in [(Input::Styled, 546), (Input::Plain, 546), (Input::Bare, 541)] {
        let (right, all) = right(&corpus, input);
        assert_eq!(all, 550);
        assert!(right >= reached, "{}: {right} of {all}, was {reached}", input.name());
    }
}

#[test]
fn screens_of_other_versions() {
    let corpus = Corpus::versions().unwrap();
    for (input, reached) in [(Input::Styled, 69), (Input::Plain, 69), (Input::Bare, 69)] {
        let (right, all) = right(&corpus, input);
        assert_eq!(all, 69);
        assert!(right >= reached, "{}: {right} of {all}, was {reached}", input.name());
    }
}

#[test]
fn screens_of_further_agents() {
    let corpus = Corpus::recorded_more().unwrap();
    for input in Input::ALL {
        let (right, all) = right(&corpus, input);
        assert_eq!(right, all, "{}", input.name());
    }
}

#[test]
fn nothing_at_rest_is_called_working() {
    for corpus in [Corpus::given(), Corpus::recorded(), Corpus::versions(), Corpus::recorded_more()]
        .map(Result::unwrap)
    {
        for input in Input::ALL {
            let wrong: Vec<_> = Score::of(&corpus, input)
                .falsely_working()
                .iter()
                .map(|recording| recording.short_name().to_owned())
                .collect();
            assert_eq!(wrong, Vec::<String>::new(), "{}, {}", corpus.name, input.name());
        }
    }
}

/// What a person is asked must be read off every dialog; low panes show the options only.
#[test]
fn dialogs_tell_what_they_ask() {
    for corpus in [Corpus::given(), Corpus::recorded(), Corpus::recorded_more()].map(Result::unwrap)
    {
        for recording in &corpus.recordings {
            if recording.truth().state == "waiting" {
                let details = recording.read(Input::Styled).details;
                let told = details.question.is_some() || !details.options.is_empty();
                assert!(told, "{}", recording.short_name());
            }
        }
    }
}
