#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "rubble/v1/bot.pb.h"
#include "rubble_bot/bot.h"
#include "rubble_bot/outbox.h"
#include "rubble_bot/turn.h"

namespace rubble {

constexpr std::chrono::milliseconds longest_pause{10'000};

/// The games of a bot across all streams, and the threads that think about them. What was answered is remembered
/// until the next question: after a reconnect the arena asks again, and the same question gets the same answer.
///
/// Its threads share ownership, so that stopping does not wait for a slow answer.
class Table : public std::enable_shared_from_this<Table> {
public:
    Table(Choose choose, const Settings& settings);

    /// Begins another stream. The arena announces its games, and asks again for every answer that did not arrive.
    void move_to(std::shared_ptr<Outbox> outbox);

    /// Handles an event. Called by one thread only.
    void hear(v1::PlayEvent& event);

    /// Stops the thinking; threads that still think are not waited for.
    void close();

private:
    using Clock = std::chrono::steady_clock;

    /// A question and the state of its answer.
    struct Question {
        std::shared_ptr<const Turn> turn;
        std::optional<v1::Choice> choice;
        bool is_given_up = false;
        int refusals = 0;
    };

    /// A game, and its latest question.
    struct Game {
        v1::GameStart start;
        std::shared_ptr<Question> question;
        /// Whether the game is announced on the current stream, so that answers may be sent.
        bool is_here = true;
    };

    void begin(const v1::GameStart& start);
    void end(const v1::GameOver& over);
    void ask(v1::Turn& asked);
    void reconsider(const v1::Refused& refused);

    void think(std::shared_ptr<Question> question, Clock::time_point when);
    void work();
    std::optional<v1::Choice> choice(const Turn& turn) const;
    void answer(const Question& question, std::optional<v1::Choice> choice);

    const Choose choose_;
    const unsigned most_threads_;
    const std::function<void(const v1::GameStart&)> on_start_;
    const std::function<void(const v1::GameOver&)> on_over_;

    std::mutex mutex_;  // guards what follows
    std::condition_variable wake_;
    std::unordered_map<std::string, Game> games_;
    std::shared_ptr<Outbox> outbox_;
    std::multimap<Clock::time_point, std::shared_ptr<Question>> todo_;
    unsigned threads_ = 0;
    unsigned idle_ = 0;
    bool is_closed_ = false;
};

}  // namespace rubble
