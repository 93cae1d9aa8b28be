//! A transcript is read by a real claude: the question as its argument, the transcript on its standard input.

use model_double::homes::Agent;

use crate::lab::Lab;

#[test]
fn both_parts_of_the_question_reach_the_model() {
    let Some(lab) = Lab::new(Agent::Claude) else { return };
    lab.env.write("o.txt", "[hello]\nall 12 tests passed\n");
    let read = ["orchestrator-helper", "parse-output", "o.txt", "dev"];
    // The double says hello, which is no reading.
    let refused = lab.helper(&read).code(1).json();
    assert_eq!(refused["reason"], "sub-agent returned invalid json", "{refused}");
    let asked = lab.asked().join("\n");
    for part in ["all 12 tests passed", "\"tests_passed\":\"true|false\"", "dev-story"] {
        assert!(asked.contains(part), "{part} is not in: {asked}");
    }
}
