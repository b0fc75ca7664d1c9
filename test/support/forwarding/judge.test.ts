import { expect, test } from 'vitest'
import type { ConversationResult } from './conversation.ts'
import { type Fate, judge } from './judge.ts'
import type { BackendNews } from './listener.script.ts'

const opening = { who: 3, serial: 7, offset: 0, length: 10 }
const whole = { opening, bytes: 10, isWhole: true, fault: undefined }
const part = { opening, bytes: 4, isWhole: false, fault: undefined }
const nothing = { opening: undefined, bytes: 0, isWhole: true, fault: undefined }
const heardAll = { ...whole, opening: { ...opening, length: 5 }, bytes: 5 }
const reported: BackendNews = { kind: 'over', who: 3, serial: 7, heard: heardAll, ended: 'fin' }

function outcome(overrides: Partial<ConversationResult> = {}): ConversationResult {
  return {
    order: 'both',
    isStubborn: false,
    client: '10.7.1.1 4000',
    said: 5,
    heard: whole,
    ended: 'fin',
    reason: undefined,
    began: 100,
    over: 200,
    ...overrides,
  }
}

function verdict(one: ConversationResult, fate?: Fate, news: readonly BackendNews[] = [reported]) {
  const fates = new Map(fate ? [[3, fate]] : [])
  const { faults, whole: good, cut } = judge({ outcomes: [one], news, fates })
  return faults.length > 0 ? 'fault' : good > 0 ? 'whole' : cut
}

const killed = { kind: 'killed', from: 150, until: 160 } as const
const left = { kind: 'left', from: 150, until: 120 } as const
const lost = { kind: 'lost', from: 150, until: 120 } as const
const reset = outcome({ ended: 'reset', heard: part })

test('what is whole at both ends is whole, and nothing else', () => {
  expect(verdict(outcome())).toBe('whole')
  expect(verdict(outcome({ said: 6 }))).toBe('fault')
  expect(verdict(outcome({ heard: { ...whole, fault: 'other bytes' } }), killed)).toBe('fault')
  expect(verdict(outcome(), undefined, [])).toBe('fault')
  expect(verdict(outcome(), undefined, [{ ...reported, ended: 'reset' }])).toBe('fault')
  expect(verdict(outcome(), left, [])).toBe('fault')
  expect(verdict(outcome(), killed, [])).toBe('whole')
})

test('what is cut needs a reason, and the time for it', () => {
  expect(verdict(reset)).toBe('fault')
  expect(verdict(outcome({ heard: part }))).toBe('fault')
  expect(verdict(reset, killed)).toMatchObject({ killed: 1 })
  expect(verdict({ ...reset, over: 149 }, killed)).toBe('fault')
  expect(verdict({ ...reset, ended: 'never', over: 0 }, lost)).toBe('fault')
  expect(verdict(reset, lost)).toMatchObject({ lost: 1 })
  expect(verdict(reset, left)).toBe('fault')
  expect(verdict({ ...reset, isStubborn: true }, left)).toMatchObject({ left: 1 })
})

test('who heard nothing may have been with a backend that had not said who it is', () => {
  const silent = outcome({ ended: 'reset', heard: nothing })
  expect(verdict(silent, killed)).toMatchObject({ killed: 1 })
  expect(verdict({ ...silent, began: 161 }, killed)).toBe('fault')
  const elsewhere: BackendNews = { kind: 'accepted', who: 4, client: silent.client, at: 120 }
  const known = { ...silent, order: 'client' } as const
  expect(verdict(known, killed, [elsewhere])).toBe('fault')
  for (const at of [99, 201]) {
    expect(verdict(known, killed, [{ ...elsewhere, at }])).toMatchObject({ killed: 1 })
  }
  expect(verdict(silent, killed, [elsewhere])).toMatchObject({ killed: 1 })
})
