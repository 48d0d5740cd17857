// What an author sees: the question and the answer.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <variant>

#include "rubble/v1/common.pb.h"

namespace rubble {

/// A question, and all there is to know for the answer.
struct Turn {
    std::string session;
    std::string game;
    int seat = 0;
    int seats = 0;
    /// Counts the questions put to this seat in this session.
    std::uint32_t number = 0;
    /// What this seat knows of the table: a message of the game's own, or a Struct for games without one.
    v1::View view;
    /// Everything that may be answered, never empty. text() is the notation of the game.
    google::protobuf::RepeatedPtrField<v1::Action> legal_actions;
    /// Milliseconds left, as the arena counted them when it asked.
    v1::Clock clock;
    /// Why the last answer to this very question was refused; empty the first time.
    std::string refused;
};

/// The place of an action in legal_actions, or its text; and perhaps a note of up to 1000 characters for the replay.
struct Answer {
    std::variant<std::int64_t, std::string> action;
    std::string note;

    // Implicit, so that `return 0;` and `return "pass";` are answers.
    Answer(std::integral auto index, std::string about = {})
        : action(static_cast<std::int64_t>(index)), note(std::move(about)) {}
    Answer(std::string text, std::string about = {}) : action(std::move(text)), note(std::move(about)) {}
    Answer(const char* text, std::string about = {}) : Answer(std::string(text), std::move(about)) {}
};

/// What an author writes. It is asked in several threads at once, so a long thought in one game holds up no other. An exception
/// is logged, and that question stays unanswered.
using Choose = std::function<Answer(const Turn&)>;

}  // namespace rubble
