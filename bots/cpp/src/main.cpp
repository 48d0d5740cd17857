#include "choose.h"
#include "rubble_bot/bot.h"

int main() { rubble::run(choose); }
