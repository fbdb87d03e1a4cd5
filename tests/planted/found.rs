
#[test]
fn planted_in_the_core() {
    all(INSIDE, turnlock::planted::plant);
}
