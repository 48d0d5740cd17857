// Tests of the SDK against a fake arena.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "rubble/v1/bot.grpc.pb.h"
#include "rubble_bot/bot.h"
#include "rubble_bot/outbox.h"

namespace {

using namespace rubble::v1;
using Stream = grpc::ServerReaderWriter<PlayResponse, PlayRequest>;
/// The arena's reply to choices. `stream` counts from 1; any status but OK ends it.
using Script = std::function<grpc::Status(int stream, const PlayRequest& choices, PlayResponse& answer)>;

/// A server that sends Welcome, starts all games in one message, asks a question in each in another, and then follows a script.
class StrawArena final : public BotService::Service {
public:
    StrawArena(int games, Script script) : games_(games), script_(std::move(script)) {
        int port = 0;
        grpc::ServerBuilder builder;
        builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
        builder.RegisterService(this);
        server_ = builder.BuildAndStart();
        address = "127.0.0.1:" + std::to_string(port);
    }

    ~StrawArena() override { server_->Shutdown(std::chrono::system_clock::now()); }

    grpc::Status Play(grpc::ServerContext*, Stream* bot) override {
        const int stream = ++streams_;
        PlayRequest request;
        bot->Read(&request);
        PlayResponse welcome, starts, questions;
        welcome.add_events()->mutable_welcome()->set_bot("straw");
        for (int game = 0; game < games_; ++game) {
            auto& start = *starts.add_events()->mutable_game_start();
            start.set_session("g" + std::to_string(game));
            start.set_seats(2);
            auto& turn = *questions.add_events()->mutable_turn();
            turn.set_session(start.session());
            turn.set_turn(1);
            turn.add_legal_actions()->set_text("stay");
            turn.add_legal_actions()->set_text("go");
        }
        bot->Write(welcome);
        bot->Write(starts);
        bot->Write(questions);
        while (bot->Read(&request)) {
            PlayResponse answer;
            if (auto status = script_(stream, request, answer); !status.ok()) {
                return status;
            }
            bot->Write(answer);
        }
        return grpc::Status::OK;
    }

    std::string address;

private:
    int games_;
    Script script_;
    std::atomic<int> streams_ = 0;
    std::unique_ptr<grpc::Server> server_;
};

/// Plays until that many games are over.
void play(int games, Script script, rubble::Choose choose, int ends = 1) {
    StrawArena arena(games, std::move(script));
    std::unique_ptr<rubble::Bot> bot;
    rubble::Settings settings{.address = arena.address, .key = "any", .games = static_cast<unsigned>(games)};
    settings.on_over = [&](const GameOver&) {
        if (--ends == 0) {
            bot->stop();
        }
    };
    bot = std::make_unique<rubble::Bot>(std::move(choose), settings);
    bot->play();
}

TEST(Sdk, AnswersThatAreReadyTogetherTravelTogether) {
    rubble::Outbox outbox;
    for (int i = 0; i < 300; ++i) {
        outbox.send({});
    }
    PlayRequest request;

    EXPECT_TRUE(outbox.next(request));
    EXPECT_EQ(request.choices_size(), 256);
    EXPECT_TRUE(outbox.next(request));
    EXPECT_EQ(request.choices_size(), 44);
    outbox.close();
    EXPECT_FALSE(outbox.next(request));
}

TEST(Sdk, TheSameQuestionGetsTheSameAnswerAfterDraining) {
    constexpr int games = 50;
    std::map<std::string, unsigned> heard[2];
    std::atomic<unsigned> thoughts = 0;

    play(
        games,
        [&](int stream, const PlayRequest& request, PlayResponse& answer) {
            auto& answers = heard[stream - 1];
            for (const auto& choice : request.choices()) {
                answers[choice.session()] = choice.index();
            }
            if (answers.size() == games && stream == 1) {
                answer.add_events()->mutable_draining();
            } else if (answers.size() == games) {
                for (const auto& [session, index] : answers) {
                    answer.add_events()->mutable_game_over()->set_session(session);
                }
            }
            return grpc::Status::OK;
        },
        [&](const rubble::Turn&) -> rubble::Answer { return thoughts++ % 2; }, games);

    EXPECT_EQ(thoughts, static_cast<unsigned>(games));  // the same question is passed to choose once
    EXPECT_EQ(heard[0], heard[1]);                      // and gets the same answer
}

TEST(Sdk, ARefusedAnswerComesBackWithItsReason) {
    std::vector<std::string> reasons;

    play(
        1,
        [](int, const PlayRequest& request, PlayResponse& answer) {
            if (request.choices(0).text() == "go") {
                answer.add_events()->mutable_game_over()->set_session("g0");
            } else {
                auto& refused = *answer.add_events()->mutable_refused();
                refused.set_session("g0");
                refused.set_turn(1);
                refused.set_reason("UNREADABLE");
                refused.set_open(true);
            }
            return grpc::Status::OK;
        },
        [&](const rubble::Turn& turn) -> rubble::Answer {
            reasons.push_back(turn.refused);
            return turn.refused.empty() ? "fly" : "go";
        });

    EXPECT_EQ(reasons, (std::vector<std::string>{"", "UNREADABLE"}));
}

TEST(Sdk, AChooseThatFailsLosesItsQuestionAndNoOther) {
    std::map<std::string, std::string> answered;

    play(
        5,
        [&](int, const PlayRequest& request, PlayResponse& answer) {
            for (const auto& choice : request.choices()) {
                answered[choice.session()] = choice.note();
            }
            if (answered.size() == 2) {
                answer.add_events()->mutable_game_over()->set_session("g3");
            }
            return grpc::Status::OK;
        },
        [](const rubble::Turn& turn) -> rubble::Answer {
            if (turn.session == "g0") {
                throw std::runtime_error("a bug in a bot");
            }
            if (turn.session == "g1") {
                return -1;
            }
            if (turn.session == "g2") {
                return "\xff is not UTF-8";
            }
            std::string note;
            for (int i = 0; i < 1001; ++i) {
                note += "é";
            }
            return {0, note};
        });

    std::string longest;
    for (int i = 0; i < 1000; ++i) {
        longest += "é";
    }
    EXPECT_EQ(answered, (std::map<std::string, std::string>{{"g3", longest}, {"g4", longest}}));
}

TEST(Sdk, ABotToldToStopDoesNotWaitForItsThoughts) {
    struct Shared {
        std::mutex mutex;
        std::condition_variable wake;
        bool is_thinking = false;
        bool is_over = false;
    };
    const auto shared = std::make_shared<Shared>();  // the call of choose outlives the test
    StrawArena arena(1, [](int, const PlayRequest&, PlayResponse&) { return grpc::Status::OK; });
    rubble::Bot bot(
        [shared](const rubble::Turn&) -> rubble::Answer {
            std::unique_lock lock(shared->mutex);
            shared->is_thinking = true;
            shared->wake.notify_all();
            shared->wake.wait(lock, [&] { return shared->is_over; });
            return 0;
        },
        {.address = arena.address, .key = "any"});
    std::thread player([&] { bot.play(); });
    {
        std::unique_lock lock(shared->mutex);
        shared->wake.wait(lock, [&] { return shared->is_thinking; });
    }

    bot.stop();
    player.join();  // would block for ever if it waited

    const std::lock_guard lock(shared->mutex);
    EXPECT_FALSE(shared->is_over);
    shared->is_over = true;
    shared->wake.notify_all();
}

TEST(Sdk, AKeyThatIsNotAcceptedIsToldAndNotTriedAgain) {
    const auto script = [](int, const PlayRequest&, PlayResponse&) {
        return grpc::Status(grpc::StatusCode::UNAUTHENTICATED, "expired");
    };
    try {
        play(1, script, [](const rubble::Turn&) -> rubble::Answer { return 0; });
        FAIL();
    } catch (const rubble::BotError& error) {
        EXPECT_STREQ(error.what(), "the arena does not accept RUBBLE_BOT_KEY: expired");
        EXPECT_EQ(error.exit_code, 1);
    }
}

TEST(Sdk, AnotherProcessWithTheKeyIsToldAndNotDrivenOut) {
    const auto script = [](int, const PlayRequest&, PlayResponse& answer) {
        answer.add_events()->mutable_taken_over();
        return grpc::Status::OK;
    };
    try {
        play(1, script, [](const rubble::Turn&) -> rubble::Answer { return 0; });
        FAIL();
    } catch (const rubble::BotError& error) {
        EXPECT_STREQ(error.what(), "another process plays with this bot's key now; stopping");
        EXPECT_EQ(error.exit_code, 1);
    }
}

TEST(Sdk, AMissingSettingIsNamed) {
    unsetenv("RUBBLE_ADDRESS");
    try {
        rubble::Bot bot([](const rubble::Turn&) -> rubble::Answer { return 0; });
        FAIL();
    } catch (const rubble::BotError& error) {
        EXPECT_STREQ(error.what(), "RUBBLE_ADDRESS is missing: host:port of the arena");
        EXPECT_EQ(error.exit_code, 2);
    }
}

}  // namespace
