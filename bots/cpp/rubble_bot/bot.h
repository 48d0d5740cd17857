// A bot that plays until it is stopped: one stream to the arena that carries all its games, with reconnection.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

#include <grpcpp/grpcpp.h>

#include "rubble/v1/bot.pb.h"
#include "rubble_bot/turn.h"

namespace rubble {

class Table;

/// Empty settings are read from RUBBLE_ADDRESS, RUBBLE_BOT_KEY and RUBBLE_CA.
struct Settings {
    /// host:port of the arena.
    std::string address = {};
    std::string key = {};
    /// A file of certificates to trust, or "system" for those of the machine; empty: no TLS.
    std::string ca = {};
    /// The number of games played at once, and of those answered at once (0: all, at most 16).
    unsigned games = 16;
    unsigned threads = 0;
    /// Called between two messages; should be quick.
    std::function<void(const v1::GameStart&)> on_start = {};
    std::function<void(const v1::GameOver&)> on_over = {};
};

/// The reason why a bot stopped by itself.
class BotError : public std::runtime_error {
public:
    BotError(const std::string& message, int code) : std::runtime_error(message), exit_code(code) {}

    int exit_code;
};

class Bot {
public:
    /// Throws BotError if a setting is missing or cannot be used.
    explicit Bot(Choose choose, Settings settings = {});
    ~Bot();
    Bot(const Bot&) = delete;
    Bot& operator=(const Bot&) = delete;

    /// Plays until stop(), once. Throws BotError if the arena rejects this bot.
    void play();

    /// Leaves the arena now; may be called from any thread. The arena keeps the games until their clocks run out.
    void stop();

private:
    enum class Ending { draining, lost, stopped };

    Ending converse();
    bool hear(v1::PlayResponse& response);
    void pause(const std::string& problem);

    Settings settings_;
    std::shared_ptr<grpc::ChannelCredentials> credentials_;
    std::shared_ptr<Table> table_;
    grpc::Status status_;  // of the last stream
    int failures_ = 0;     // failed attempts in a row

    std::mutex mutex_;  // guards what follows
    std::condition_variable wake_;
    grpc::ClientContext* context_ = nullptr;
    bool is_stopping_ = false;
};

/// Plays until SIGTERM or Ctrl-C, and ends the process: with exit code 0, or with an error message.
[[noreturn]] void run(Choose choose, Settings settings = {});

}  // namespace rubble
