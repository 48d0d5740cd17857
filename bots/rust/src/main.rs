//! A starter bot that plays every game of the arena by a simple heuristic. To write your own bot, change `choose`.

use rubble_bot::v1::view::Game as View;
use rubble_bot::v1::{relief_action, sf1906_action, sf1906_place};
use rubble_bot::v1::{Action, ReliefAction, ReliefSeat, Sf1906Action, Sf1906ActionKind, Sf1906Benefit, Sf1906Icon};
use rubble_bot::v1::{Sf1906Place, Sf1906View};
use rubble_bot::{Answer, Failure, Turn};

fn main() {
    rubble_bot::run(choose)
}

/// Returns the action that seems worth most; a random one among equals.
fn choose(turn: &mut Turn) -> Result<Answer, Failure> {
    let worth: Vec<f64> = turn.legal_actions.iter().map(|action| worth(turn, action)).collect();
    let highest = worth.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let best: Vec<usize> = (0..worth.len()).filter(|&index| worth[index] == highest).collect();
    turn.note = format!("worth {highest}"); // stored with the action in the replay
    let index = fastrand::choice(best).ok_or("no legal action to choose from")?;
    Ok(Answer::Index(index))
}

/// Returns what an action is worth, roughly in points.
fn worth(turn: &Turn, action: &Action) -> f64 {
    use rubble_bot::v1::action::Game::{Relief, Sf1906};
    match (&turn.view, &action.game) {
        (Some(View::Sf1906(city)), Some(Sf1906(action))) => sf1906_worth(city, action),
        (Some(View::Relief(camp)), Some(Relief(action))) => relief_worth(&camp.seats[turn.seat], action),
        _ => 0.0, // a game without its own messages: read action.text, or play anything
    }
}

// ------------------------------------------------------------------------------------------------- 1906 San Francisco

fn sf1906_worth(city: &Sf1906View, action: &Sf1906Action) -> f64 {
    use sf1906_action::Action::{Benefit, Clear, Discard, Earn, Place, Reward};
    match &action.action {
        Some(Earn(dollars)) => f64::from(*dollars),
        Some(Place(place)) => place_worth(city, place),
        Some(Benefit(benefit)) if *benefit == Sf1906Benefit::Build as i32 => 3.0,
        Some(Benefit(_)) => 1.0,
        Some(Clear(space)) if !space.is_empty() => 1.0,
        Some(Reward(icon)) if *icon != Sf1906Icon::Unspecified as i32 => 1.0,
        Some(Discard(discard)) => -(discard.permits.len() as f64),
        _ => 0.0, // a choice of card or space: add your own idea here
    }
}

/// Returns what a space for the pawn is worth to a player who is going to build.
fn place_worth(city: &Sf1906View, place: &Sf1906Place) -> f64 {
    use sf1906_place::What;
    use Sf1906ActionKind as Kind;
    let action = match place.what {
        Some(What::Action(action)) => action,
        Some(What::Cash(true)) => return 1.0,
        _ => return 0.0,
    };
    let space = &city.ring[city.card() as usize].spaces[action as usize];
    let value = match space.kind() {
        Kind::GrantBuild => 10.0,
        Kind::Build => 9.0,
        Kind::Permit | Kind::Materials => 5.0,
        Kind::Objective | Kind::UrbanDevelopment => 4.0,
        Kind::ClearUp => 3.0,
        _ => 0.5 * f64::from(space.amount),
    };
    value - 2.0 * f64::from(action.abs_diff(place.space)) // another space's action costs a fee for each step
}

// ------------------------------------------------------------------------------------------------------------- Relief

fn relief_worth(me: &ReliefSeat, action: &ReliefAction) -> f64 {
    use relief_action::Action::{Build, Keep, Lead, SpendMoney, SpendStories, Trade, Use};
    match &action.action {
        Some(Build(_)) => 10.0,
        Some(Use(space)) => use_worth(me, *space),
        Some(Lead(space)) => f64::from(*space), // higher spaces hold built tiles, which give more than printed ones
        Some(SpendStories(stories)) => 1.0 + 0.1 * f64::from(*stories),
        Some(SpendMoney(money)) => 2.0 + 0.1 * f64::from(*money),
        Some(Trade(goods)) => 3.0 + f64::from(goods.supply + goods.worker),
        Some(Keep(_)) => -1.0,
        _ => 0.0,
    }
}

fn use_worth(me: &ReliefSeat, space: u32) -> f64 {
    let has_leader = me.placed.as_ref().is_some_and(|leaders| leaders.spaces.contains(&space));
    me.mat.iter().find(|tile| tile.space == space).map_or(0.0, |tile| {
        5.0 - f64::from(tile.uses) + 0.1 * tile.under.len() as f64 + if has_leader { 2.0 } else { 0.0 }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rubble_bot::v1::{ReliefLeaders, ReliefSpace, ReliefView, Sf1906ActionCard, Sf1906ActionSpace};

    fn place(space: u32, action: u32) -> Action {
        let place = Sf1906Place { space, what: Some(sf1906_place::What::Action(action)) };
        let action = Sf1906Action { action: Some(sf1906_action::Action::Place(place)) };
        Action { text: String::new(), game: Some(rubble_bot::v1::action::Game::Sf1906(action)) }
    }

    fn use_tile(space: u32) -> Action {
        let action = ReliefAction { action: Some(relief_action::Action::Use(space)) };
        Action { text: String::new(), game: Some(rubble_bot::v1::action::Game::Relief(action)) }
    }

    #[test]
    fn building_is_worth_more_than_earning() {
        let earnings = Sf1906ActionSpace { kind: Sf1906ActionKind::Earnings as i32, amount: 4 };
        let build = Sf1906ActionSpace { kind: Sf1906ActionKind::Build as i32, amount: 0 };
        let ring = vec![Sf1906ActionCard { card: "A1".into(), spaces: vec![earnings, build] }];
        let mut turn = Turn {
            view: Some(View::Sf1906(Sf1906View { card: Some(0), ring, ..Default::default() })),
            legal_actions: vec![place(0, 0), place(1, 1), place(0, 1)], // the last one pays a fee for the step
            ..Default::default()
        };

        assert_eq!(choose(&mut turn).unwrap(), Answer::Index(1));
        assert_eq!(turn.note, "worth 9");
    }

    #[test]
    fn a_tile_with_a_leader_is_used_first() {
        let space = |space, uses| ReliefSpace { space, uses, ..Default::default() };
        let me = ReliefSeat {
            mat: vec![space(1, 0), space(2, 0), space(3, 1)],
            placed: Some(ReliefLeaders { spaces: vec![2] }),
            ..Default::default()
        };
        let seats = vec![ReliefSeat::default(), me];
        let mut turn = Turn {
            view: Some(View::Relief(ReliefView { seats, ..Default::default() })),
            seat: 1,
            legal_actions: vec![use_tile(1), use_tile(2), use_tile(3)],
            ..Default::default()
        };

        assert_eq!(choose(&mut turn).unwrap(), Answer::Index(1));
    }

    #[test]
    fn a_game_it_has_never_heard_of_is_played_too() {
        let action = |text: &str| Action { text: text.into(), game: None };
        let mut turn = Turn { legal_actions: vec![action("stay"), action("go")], ..Default::default() };

        assert!(matches!(choose(&mut turn).unwrap(), Answer::Index(0 | 1)));
    }
}
