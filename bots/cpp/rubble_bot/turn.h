// The types a bot author uses: the question and the answer.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <variant>

#include "rubble/v1/common.pb.h"

namespace rubble {

/// A question with everything needed to answer it.
struct Turn {
    std::string session;
    std::string game;
    int seat = 0;
    int seats = 0;
    /// The number of this question to this seat in this session, from 1.
    std::uint32_t number = 0;
    /// What this seat knows of the table: the game's own message, or a Struct for games without one.
    v1::View view;
    /// All possible answers, never empty. text() is the notation of the game.
    google::protobuf::RepeatedPtrField<v1::Action> legal_actions;
    /// Milliseconds left, as the arena counted them when it asked.
    v1::Clock clock;
    /// Why the last answer to this question was refused; empty the first time.
    std::string refused;
};

/// The index of an action in legal_actions, or its text; and perhaps a note of up to 1000 characters for the replay.
struct Answer {
    std::variant<std::int64_t, std::string> action;
    std::string note;

    // Implicit, so that `return 0;` and `return "pass";` are answers.
    Answer(std::integral auto index, std::string about = {})
        : action(static_cast<std::int64_t>(index)), note(std::move(about)) {}
    Answer(std::string text, std::string about = {}) : action(std::move(text)), note(std::move(about)) {}
    Answer(const char* text, std::string about = {}) : Answer(std::string(text), std::move(about)) {}
};

/// The function a bot author writes. It is called in several threads at once, so a slow answer in one game does not delay
/// others. An exception is logged, and that question stays unanswered.
using Choose = std::function<Answer(const Turn&)>;

}  // namespace rubble
