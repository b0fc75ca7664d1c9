import { setTimeout as delay } from 'node:timers/promises'
import { Conversation, type ConversationResult } from './conversation.ts'
import { FRONTEND_PORTS } from './frontends.ts'
import { ORDERS } from './order.ts'
import { createPool, offsetsFor } from './said.ts'
import { type Dice, seeded, someLength } from './seeded.ts'
import { serveCalls } from './serve-calls.ts'
import { clientAddress, FRONTEND } from './stage.ts'

/**
 * The clients of `Chaos`: a crowd that connects before it speaks, and single clients one after the other (the trickle).
 */
export type TalkerCalls = typeof calls

const CLIENTS = 16
const LANES = 4
const STUBBORN_BYTES = 20_000
const LOOK_EVERY_MS = 5
const TIMEOUT_MS = 15_000

const pool = createPool()
const state = {
  crowd: [] as Conversation[],
  trickle: [] as Conversation[],
  lanes: [] as Promise<void>[],
  isTrickling: false,
  ended: 0,
}

function begin(dice: Dice, serial: number, kind: 'any' | 'short' | 'stubborn'): Conversation {
  const order = kind === 'stubborn' ? 'both' : (ORDERS[dice(3)] ?? 'both')
  const anyLength = kind === 'short' ? dice(20_000) : someLength(dice)
  const length = kind === 'stubborn' ? STUBBORN_BYTES : anyLength
  const isSilent = kind === 'any' && dice(20) === 0
  const words = { who: 0, serial, offset: dice(offsetsFor(length)), length }
  const conversation = new Conversation(
    {
      order,
      from: clientAddress(serial % CLIENTS),
      to: [FRONTEND, FRONTEND_PORTS[order]],
      words: isSilent ? undefined : words,
      isSlow: kind === 'any' && dice(10) === 0,
      isStubborn: kind === 'stubborn',
    },
    pool,
  )
  void conversation.ended.then(() => state.ended++)
  return conversation
}

async function lane(dice: Dice): Promise<void> {
  for (let serial = 0; state.isTrickling; serial++) {
    const conversation = begin(dice, serial, 'short')
    state.trickle.push(conversation)
    await conversation.settled
    void conversation.go()
    await conversation.ended
  }
}

async function until(holds: () => boolean): Promise<void> {
  for (const deadline = Date.now() + TIMEOUT_MS; Date.now() < deadline && !holds(); ) {
    await delay(LOOK_EVERY_MS)
  }
}

const calls = {
  /** Resolves when all are connected. */
  async open({ seed, count, stubborn }: Record<'seed' | 'count' | 'stubborn', number>) {
    const dice = seeded(seed)
    const kind = (index: number) => (index < stubborn ? 'stubborn' : 'any')
    state.ended = 0
    state.crowd = Array.from({ length: count }, (_, index) => begin(dice, index, kind(index)))
    await Promise.all(state.crowd.map(({ settled }) => settled))
  },
  /** The crowd speaks. */
  go() {
    for (const conversation of state.crowd) void conversation.go()
  },
  startTrickle(seed: number) {
    state.isTrickling = true
    state.lanes = Array.from({ length: LANES }, (_, index) => lane(seeded(seed + index)))
  },
  async stopTrickle() {
    state.isTrickling = false
    await Promise.race([Promise.all(state.lanes), delay(TIMEOUT_MS, undefined, { ref: false })])
  },
  release() {
    for (const conversation of state.crowd) conversation.release()
  },
  /** Waits, with a timeout, until this number of the crowd has ended. */
  untilEnded: (wanted: number) => until(() => state.ended >= wanted),
  /** Waits until this many further clients of the trickle have ended. */
  untilTrickled(more: number) {
    const wanted = state.trickle.length + more
    return until(() => state.trickle.length >= wanted)
  },
  /** Waits, with a timeout, until all have ended. */
  async outcomes(timeoutMs: number): Promise<readonly ConversationResult[]> {
    const all = [...state.crowd, ...state.trickle]
    const everyone = Promise.all(all.map(({ ended }) => ended))
    await Promise.race([everyone, delay(timeoutMs, undefined, { ref: false })])
    const outcomes = all.map((conversation) => conversation.outcome())
    for (const conversation of all) conversation.abort()
    state.crowd = []
    state.trickle = []
    return outcomes
  },
}

serveCalls(calls)
