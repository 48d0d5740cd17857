#include "rubble_bot/bot.h"

#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <random>
#include <string_view>
#include <thread>
#include <utility>

#include "rubble/v1/bot.grpc.pb.h"
#include "rubble_bot/log.h"
#include "rubble_bot/outbox.h"
#include "rubble_bot/table.h"

namespace rubble {
namespace {

constexpr const char* sdk = "rubble-cpp 0.1";
/// Pause between two attempts to connect: doubled from the first value up to the second, shortened by up to half at random.
constexpr std::chrono::milliseconds shortest_pause{100};

constexpr int rejected = 1;
constexpr int bad_setting = 2;

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

std::string required(std::string given, const char* name, const char* meaning) {
    if (given.empty()) {
        given = environment(name);
    }
    if (given.empty()) {
        throw BotError(std::string(name) + " is missing: " + meaning, bad_setting);
    }
    return given;
}

std::shared_ptr<grpc::ChannelCredentials> credentials(const std::string& ca) {
    if (ca.empty()) {
        return grpc::InsecureChannelCredentials();
    }
    grpc::SslCredentialsOptions options;
    if (ca != "system") {
        errno = 0;
        std::ifstream file(ca, std::ios::binary);
        options.pem_root_certs.assign(std::istreambuf_iterator<char>(file), {});
        if (!file || options.pem_root_certs.empty()) {
            const std::string reason = errno ? std::strerror(errno) : "it is empty";
            throw BotError("RUBBLE_CA: " + ca + " cannot be read (" + reason + ")", bad_setting);
        }
    }
    return grpc::SslCredentials(options);
}

/// Every stream has its own connection, perhaps to another copy.
std::shared_ptr<grpc::Channel> channel(const Settings& settings, const std::shared_ptr<grpc::ChannelCredentials>& trust) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);  // notice a dead connection while waiting for a turn
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    // The bot connects again itself. gRPC's own attempts have no pause: they can fill the memory while an arena stops.
    arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
    return grpc::CreateCustomChannel(settings.address, trust, arguments);
}

std::string_view name(grpc::StatusCode code) {
    static constexpr std::string_view names[] = {
        "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
        "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
        "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"};
    return code >= 0 && code < static_cast<int>(std::size(names)) ? names[code] : "a status of its own";
}

/// Returns what went wrong if trying again may help; throws BotError otherwise.
std::string classify(const grpc::Status& status) {
    switch (status.error_code()) {
        case grpc::StatusCode::OK:
            return "the stream ended";
        case grpc::StatusCode::UNAUTHENTICATED:
        case grpc::StatusCode::PERMISSION_DENIED:
            throw BotError("the arena does not accept RUBBLE_BOT_KEY: " + status.error_message(), rejected);
        case grpc::StatusCode::INVALID_ARGUMENT:
        case grpc::StatusCode::UNIMPLEMENTED:
            throw BotError("the arena does not understand this bot: " + status.error_message(), rejected);
        default:
            break;
    }
    return std::string(name(status.error_code())) + ": " + status.error_message();
}

}  // namespace

Bot::Bot(Choose choose, Settings settings) : settings_(std::move(settings)) {
    settings_.address = required(settings_.address, "RUBBLE_ADDRESS", "host:port of the arena");
    settings_.key = required(settings_.key, "RUBBLE_BOT_KEY", "the key the operator issued for this bot");
    credentials_ = credentials(settings_.ca.empty() ? environment("RUBBLE_CA") : settings_.ca);
    table_ = std::make_shared<Table>(std::move(choose), settings_);
}

Bot::~Bot() { table_->close(); }

void Bot::play() {
    while (true) {
        switch (converse()) {
            case Ending::stopped:
                log("INFO", "stopped");
                return;
            case Ending::draining:
                log("INFO", "this copy of the arena is about to stop; connecting again");
                break;
            case Ending::lost:
                pause(classify(status_));
                break;
        }
    }
}

void Bot::stop() {
    {
        const std::lock_guard lock(mutex_);
        is_stopping_ = true;
        if (context_) {
            context_->TryCancel();
        }
    }
    wake_.notify_all();
}

/// Runs one stream, from Hello to its end. This thread reads, another one writes, and both end with the call.
Bot::Ending Bot::converse() {
    const auto stub = v1::BotService::NewStub(channel(settings_, credentials_));
    const auto outbox = std::make_shared<Outbox>();
    grpc::ClientContext context;
    // The key is also sent as metadata: the arena then knows the bot before it reads the stream.
    context.AddMetadata("authorization", "Bearer " + settings_.key);
    {
        const std::lock_guard lock(mutex_);
        if (is_stopping_) {
            return Ending::stopped;
        }
        context_ = &context;
    }
    table_->move_to(outbox);
    const auto stream = stub->Play(&context);
    std::thread writer([&] {
        v1::PlayRequest request;
        auto& hello = *request.mutable_hello();
        hello.set_bot_key(settings_.key);
        hello.set_sdk(sdk);
        hello.set_max_parallel_games(settings_.games);
        while (stream->Write(request) && outbox->next(request)) {
        }
    });

    v1::PlayResponse response;
    const auto finish = [&](bool is_ours) {
        if (is_ours) {
            context.TryCancel();
            while (stream->Read(&response)) {
            }
        }
        outbox->close();
        writer.join();
        status_ = stream->Finish();
        const std::lock_guard lock(mutex_);
        context_ = nullptr;
        return is_stopping_;
    };
    bool is_draining = false;
    try {
        while (!is_draining && stream->Read(&response)) {
            is_draining = !hear(response);
        }
    } catch (...) {  // another process plays, or no memory or thread is left: a new stream would not help
        finish(true);
        throw;
    }
    return finish(is_draining) ? Ending::stopped : is_draining ? Ending::draining : Ending::lost;
}

/// Handles events; returns false if the arena asks the bot to reconnect. Throws BotError if another process plays with the key.
bool Bot::hear(v1::PlayResponse& response) {
    for (auto& event : *response.mutable_events()) {
        if (event.has_draining()) {
            return false;
        }
        if (event.has_taken_over()) {
            throw BotError("another process plays with this bot's key now; stopping", rejected);
        }
        if (event.has_welcome()) {
            failures_ = 0;
            log("INFO", "connected to ", settings_.address, " as ", event.welcome().bot());
        } else {
            table_->hear(event);
        }
    }
    return true;
}

void Bot::pause(const std::string& problem) {
    static thread_local std::minstd_rand random{std::random_device{}()};
    const std::chrono::duration<double> most = std::min(longest_pause, shortest_pause * (1 << std::min(failures_++, 10)));
    const auto pause = most * std::uniform_real_distribution(0.5, 1.0)(random);
    log("WARNING", "no connection to ", settings_.address, " (", problem, "); next attempt in ", std::fixed, std::setprecision(1),
        pause.count(), " s");
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, pause, [this] { return is_stopping_; });
}

void run(Choose choose, Settings settings) {
    // Before other threads start, so that none of them receives the signals.
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    int code = 0;
    try {
        static Bot bot(std::move(choose), std::move(settings));
        std::thread([signals] {
            for (int caught = 0;; bot.stop()) {
                sigwait(&signals, &caught);
            }
        }).detach();
        bot.play();
    } catch (const BotError& error) {
        std::cerr << "rubble-bot: " << error.what() << std::endl;
        code = error.exit_code;
    } catch (const std::exception& error) {
        std::cerr << "rubble-bot: " << error.what() << std::endl;
        code = 1;
    }
    std::cout.flush();
    std::fflush(nullptr);
    // Other threads may still be in choose: nothing they use may be destroyed.
    std::quick_exit(code);
}

}  // namespace rubble
