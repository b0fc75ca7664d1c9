import { describe, expect, test } from 'vitest'
import type {
  ExplanationDocument,
  OutcomeDocument,
  StepDocument,
} from '../../../inspection/answers.ts'
import {
  explainedWay,
  outcomeSentence,
  packetWords,
  stepWords,
  type WayBox,
  wayLayout,
  wrapText,
} from './way-layout.ts'

const route: StepDocument = { where: 'route', text: 'to 10.96.0.1 by eth0' }
const service: StepDocument = {
  where: 'nft ip nat',
  object: 'vmap @services',
  text: 'goto svc',
  counter: { packets: '1234', bytes: '5' },
}
const toBackend = (ip: string): StepDocument => ({ where: 'nft ip nat', text: `dnat to ${ip}:80` })

function delivered(ip: string, probability: number): OutcomeDocument {
  return {
    kind: 'delivered',
    probability,
    to: 'forwarded',
    outInterface: 'eth0',
    dst: { ip, port: 80 },
    src: '10.0.0.2',
    steps: [route, service, toBackend(ip)],
  }
}

function explanation(observed: readonly OutcomeDocument[]): ExplanationDocument {
  return {
    src: '10.0.0.2',
    dst: '10.96.0.1',
    port: 80,
    protocol: 'TCP',
    inInterface: 'cbr0',
    desired: null,
    observed,
    differences: [],
  }
}

function overlap(a: WayBox, b: WayBox): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height
}

describe('the way', () => {
  test('has what all outcomes begin with once, the likeliest outcome first', () => {
    const way = explainedWay([delivered('10.1.0.1', 0.25), delivered('10.1.0.2', 0.75)])
    expect(way.trunk).toEqual([
      { where: 'route', steps: [route] },
      { where: 'nft ip nat', steps: [service] },
    ])
    expect(way.branches.map(({ outcome, stages }) => [outcome.dst?.ip, stages])).toEqual([
      ['10.1.0.2', [{ where: 'nft ip nat', steps: [toBackend('10.1.0.2')] }]],
      ['10.1.0.1', [{ where: 'nft ip nat', steps: [toBackend('10.1.0.1')] }]],
    ])
  })

  test('of one outcome is all in common; of none it is empty', () => {
    expect(explainedWay([delivered('10.1.0.1', 1)]).branches[0]?.stages).toEqual([])
    expect(explainedWay([])).toEqual({ trunk: [], branches: [] })
  })
})

describe('the picture', () => {
  test.each([1, 2, 3, 4, 5, 40])(
    'of %i outcomes has all boxes inside, and none over another',
    (count) => {
      const observed = Array.from({ length: count }, (_, index) =>
        delivered(`10.1.0.${index}`, 1 / count),
      )
      const { width, height, boxes, links } = wayLayout(explanation(observed))
      for (const [index, box] of boxes.entries()) {
        expect(box.x).toBeGreaterThanOrEqual(0)
        expect(box.x + box.width).toBeLessThanOrEqual(width)
        expect(box.y + box.height).toBeLessThanOrEqual(height)
        expect(boxes.slice(index + 1).filter((other) => overlap(box, other))).toEqual([])
      }
      expect(links).toHaveLength(boxes.length - 1)
      const text = JSON.stringify(boxes)
      expect(text).toContain('1,234 packets so far')
      const missing = observed.slice(0, 3).filter(({ dst }) => !text.includes(`${dst?.ip}:80`))
      expect(missing).toEqual([])
    },
  )

  test('outcomes without space are one box, with their share', () => {
    const observed = Array.from({ length: 40 }, (_, index) => delivered(`10.1.0.${index}`, 1 / 40))
    const { boxes, links } = wayLayout(explanation(observed))
    const rest = boxes.find(({ kind }) => kind === 'rest')
    expect([rest?.head, rest?.lines.at(-1)?.text]).toEqual(['37 other outcomes', 'and 31 more'])
    expect(links.map(({ label }) => label)).toContain('93 %')
  })

  test('long rules are cut, and are whole beside it', () => {
    const object = `-A CHAIN ${'-m comment --comment long '.repeat(40)}`.trim()
    const step = { where: 'iptables nat', object, text: '-j ACCEPT' }
    const outcome = { ...delivered('10.1.0.1', 1), steps: [step] }
    const stage = wayLayout(explanation([outcome])).boxes.find(({ kind }) => kind === 'stage')
    expect(stage?.lines).toHaveLength(5)
    expect(stage?.lines.at(-1)?.text).toMatch(/…$/)
    expect(stage?.lines.map(({ full }) => full)).toContain(`${object} → -j ACCEPT`)
  })
})

test('what becomes of a packet, as sentences', () => {
  const base = { probability: 0.5, steps: [] }
  expect(packetWords(explanation([]))).toBe('TCP from 10.0.0.2, by cbr0, to 10.96.0.1:80')
  expect(outcomeSentence(delivered('10.1.0.1', 0.5))).toBe(
    '50 %: 10.1.0.1:80, sees 10.0.0.2, leaves by eth0',
  )
  expect(outcomeSentence({ ...base, kind: 'refused', how: 'tcp-reset' })).toBe(
    '50 %: refused, tcp-reset',
  )
  expect(outcomeSentence({ ...base, kind: 'silent', by: 'DROP of INPUT' })).toBe(
    '50 %: no answer, DROP of INPUT',
  )
  expect(outcomeSentence({ ...base, kind: 'uncertain', reason: 'a match that is not known' })).toBe(
    '50 %: not known, a match that is not known',
  )
  expect(stepWords({ where: 'x', object: '-A C -j DROP', text: '-j DROP' })).toBe('-A C -j DROP')
  expect(stepWords({ where: 'x', object: 'jump guard', text: 'jump' })).toBe('jump guard')
  expect(stepWords({ where: 'x', object: 'vmap @all', text: 'goto' })).toBe('vmap @all → goto')
})

test.each([
  ['one two three', 7, 3, ['one two', 'three']],
  ['abcdefghij', 4, 3, ['abcd', 'efgh', 'ij']],
  ['abcdefghij', 4, 2, ['abcd', 'efg…']],
  ['one two three four', 9, 1, ['one two…']],
  ['', 4, 2, []],
])('%j in lines of %i, at most %i', (text, width, lines, expected) => {
  expect(wrapText(text, width, lines)).toEqual(expected)
})
