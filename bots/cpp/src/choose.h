#pragma once

#include "rubble_bot/turn.h"

/// The answer to a question.
rubble::Answer choose(const rubble::Turn& turn);
