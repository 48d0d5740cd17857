#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "rubble/v1/bot.pb.h"

namespace rubble {

/// The messages to send on one stream. Answers that are ready together are sent in one message.
class Outbox {
public:
    static constexpr int at_once = 256;  // choices in one message

    void send(const v1::Choice& choice) {
        {
            const std::lock_guard lock(mutex_);
            waiting_.push_back(choice);
        }
        wake_.notify_one();
    }

    /// Takes all waiting choices as one message; waits until there is one. Returns false if the stream is over.
    bool next(v1::PlayRequest& request) {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return is_closed_ || !waiting_.empty(); });
        request.Clear();
        while (!waiting_.empty() && request.choices_size() < at_once) {
            *request.add_choices() = std::move(waiting_.front());
            waiting_.pop_front();
        }
        return !is_closed_;
    }

    void close() {
        {
            const std::lock_guard lock(mutex_);
            is_closed_ = true;
        }
        wake_.notify_one();
    }

private:
    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<v1::Choice> waiting_;
    bool is_closed_ = false;
};

}  // namespace rubble
