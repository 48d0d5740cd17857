#include "rubble_bot/table.h"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "rubble_bot/log.h"

namespace rubble {
namespace {

constexpr std::size_t note_characters = 1000;
constexpr std::chrono::milliseconds first_refusal{50};

/// Returns the first characters of a text; throws if it is not UTF-8, which the arena could not read.
std::string clip(std::string_view text, std::size_t characters) {
    std::size_t place = 0;
    for (std::size_t count = 0; place < text.size() && count < characters; ++count) {
        const auto first = static_cast<unsigned char>(text[place]);
        const std::size_t length = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
        const auto tail = text.substr(place).substr(std::min<std::size_t>(1, length), length - (length > 0));
        const bool is_whole = tail.size() + 1 == length && std::ranges::all_of(tail, [](char byte) {
            return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
        });
        if (!is_whole) {
            throw std::invalid_argument("an answer that is not UTF-8");
        }
        place += length;
    }
    return std::string(text.substr(0, place));
}

bool is_same(const Turn& known, const v1::Turn& asked) {
    return known.number == asked.turn() &&
           std::ranges::equal(known.legal_actions, asked.legal_actions(), {}, &v1::Action::text, &v1::Action::text);
}

template <typename Message>
void tell(const std::function<void(const Message&)>& listener, const Message& message) {
    try {
        if (listener) {
            listener(message);
        }
    } catch (const std::exception& error) {
        log("ERROR", message.session(), ": a listener failed: ", error.what());
    }
}

}  // namespace

Table::Table(Choose choose, const Settings& settings)
    : choose_(std::move(choose)),
      most_threads_(settings.threads > 0 ? settings.threads : std::clamp(settings.games, 1U, 16U)),
      on_start_(settings.on_start),
      on_over_(settings.on_over) {}

void Table::move_to(std::shared_ptr<Outbox> outbox) {
    const std::lock_guard lock(mutex_);
    outbox_ = std::move(outbox);
    for (auto& [session, game] : games_) {
        game.is_here = false;
    }
}

void Table::close() {
    {
        const std::lock_guard lock(mutex_);
        is_closed_ = true;
        todo_.clear();
    }
    wake_.notify_all();
}

// ---------------------------------------------------------------------------------------------------------------- events
void Table::hear(v1::PlayEvent& event) {
    switch (event.event_case()) {
        case v1::PlayEvent::kTurn:
            return ask(*event.mutable_turn());
        case v1::PlayEvent::kGameStart:
            return begin(event.game_start());
        case v1::PlayEvent::kGameOver:
            return end(event.game_over());
        case v1::PlayEvent::kRefused:
            return reconsider(event.refused());
        default:
            return;  // an event this SDK does not know, from a newer arena
    }
}

void Table::begin(const v1::GameStart& start) {
    {
        const std::lock_guard lock(mutex_);
        const auto [place, is_new] = games_.try_emplace(start.session(), Game{start, nullptr});
        place->second.is_here = true;
        if (!is_new) {
            return;
        }
    }
    log("INFO", start.session(), ": a game of ", start.game(), ", seat ", start.seat(), " of ", start.seats());
    tell(on_start_, start);
}

void Table::end(const v1::GameOver& over) {
    decltype(games_)::node_type game;
    {
        const std::lock_guard lock(mutex_);
        game = games_.extract(over.session());
    }
    const auto seat = game.empty() ? -1 : static_cast<int>(game.mapped().start.seat());
    if (over.fault() != v1::FAULT_UNSPECIFIED) {
        log("ERROR", over.session(), ": lost by ", v1::Fault_Name(over.fault()));
    } else if (seat >= 0 && seat < over.outcome().seats_size()) {
        const auto& result = over.outcome().seats(seat);
        log("INFO", over.session(), ": rank ", result.rank(), " with ", result.score(), " points (", over.outcome().ending(), ")");
    } else {
        log("INFO", over.session(), ": over");
    }
    tell(on_over_, over);
}

void Table::ask(v1::Turn& asked) {
    const std::lock_guard lock(mutex_);
    const auto found = games_.find(asked.session());
    if (found == games_.end()) {
        log("ERROR", asked.session(), ": a question about a game that never started; left unanswered");
        return;
    }
    Game& game = found->second;
    if (game.question && is_same(*game.question->turn, asked)) {
        if (game.question->choice) {
            outbox_->send(*game.question->choice);
            return;
        }
        if (!game.question->is_given_up) {
            return;  // the answer is sent as soon as it is ready
        }
    }
    auto turn = std::make_shared<Turn>();
    turn->session = asked.session();
    turn->game = game.start.game();
    turn->seat = static_cast<int>(game.start.seat());
    turn->seats = static_cast<int>(game.start.seats());
    turn->number = asked.turn();
    turn->view.Swap(asked.mutable_view());
    turn->legal_actions.Swap(asked.mutable_legal_actions());
    turn->clock = asked.clock();
    game.question = std::make_shared<Question>();
    game.question->turn = std::move(turn);
    think(game.question, Clock::now());
}

/// Logs the refusal; if the question is still open, asks again with the reason.
void Table::reconsider(const v1::Refused& refused) {
    log("WARNING", refused.session(), ": answer ", refused.turn(), " refused: ", refused.message(), " (", refused.reason(), ")");
    const std::lock_guard lock(mutex_);
    const auto found = games_.find(refused.session());
    if (!refused.open() || found == games_.end()) {
        return;
    }
    const auto& question = found->second.question;
    if (!question || !question->choice || question->turn->number != refused.turn()) {
        return;
    }
    auto turn = std::make_shared<Turn>(*question->turn);
    turn->refused = refused.reason();
    question->turn = std::move(turn);
    question->choice.reset();
    // Avoids adding load to an arena in trouble.
    const auto pause = std::min(longest_pause, first_refusal * (1 << std::min(question->refusals++, 10)));
    think(question, Clock::now() + pause);
}

// -------------------------------------------------------------------------------------------------------------- answering
/// Queues the question for a thread. The lock is held.
void Table::think(std::shared_ptr<Question> question, Clock::time_point when) {
    if (is_closed_) {
        return;
    }
    todo_.emplace(when, std::move(question));
    if (todo_.size() > idle_ && threads_ < most_threads_) {
        try {
            std::thread([self = shared_from_this()] { self->work(); }).detach();
            ++threads_;
        } catch (const std::system_error&) {
            if (threads_ == 0) {
                throw;
            }  // the existing threads are enough
        }
    }
    wake_.notify_one();
}

/// Runs in each thread: answers one question after the other, each when it is due.
void Table::work() {
    std::unique_lock lock(mutex_);
    while (!is_closed_) {
        if (todo_.empty() || todo_.begin()->first > Clock::now()) {
            ++idle_;
            if (todo_.empty()) {
                wake_.wait(lock);
            } else {
                wake_.wait_until(lock, Clock::time_point(todo_.begin()->first));
            }
            --idle_;
            continue;
        }
        const auto question = std::move(todo_.extract(todo_.begin()).mapped());
        const auto turn = question->turn;
        lock.unlock();
        auto said = choice(*turn);
        lock.lock();
        answer(*question, std::move(said));
    }
}

/// Returns the answer of choose, or nothing if it fails.
std::optional<v1::Choice> Table::choice(const Turn& turn) const {
    try {
        const Answer answer = choose_(turn);
        v1::Choice choice;
        choice.set_session(turn.session);
        choice.set_turn(turn.number);
        choice.set_note(clip(answer.note, note_characters));
        if (const auto* text = std::get_if<std::string>(&answer.action)) {
            choice.set_text(clip(*text, text->size()));
            return choice;
        }
        const auto index = std::get<std::int64_t>(answer.action);
        if (index < 0 || index > std::numeric_limits<std::uint32_t>::max()) {
            throw std::out_of_range("index " + std::to_string(index) + "; expected 0 or more");
        }
        choice.set_index(static_cast<std::uint32_t>(index));
        return choice;
    } catch (const std::exception& error) {
        log("ERROR", turn.session, ": choose failed on turn ", turn.number, "; left unanswered: ", error.what());
    } catch (...) {
        log("ERROR", turn.session, ": choose failed on turn ", turn.number, "; left unanswered");
    }
    return std::nullopt;
}

/// Stores the answer, and sends it if the game is on the current stream. The lock is held.
void Table::answer(const Question& question, std::optional<v1::Choice> choice) {
    const auto found = games_.find(question.turn->session);
    if (found == games_.end() || found->second.question.get() != &question) {
        return;  // a newer question has replaced it
    }
    Game& game = found->second;
    game.question->is_given_up = !choice;
    game.question->choice = std::move(choice);
    if (game.question->choice && game.is_here) {
        outbox_->send(*game.question->choice);
    }
}

}  // namespace rubble
