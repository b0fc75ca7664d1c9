import { decode } from 'dns-packet'
import { afterEach, expect, test } from 'vitest'
import { openScene, type Scene } from '../testing/dns-scene.ts'
import { goldenQuestions } from '../testing/golden-questions.ts'
import { mutated, seededBelow } from '../testing/mutate.ts'
import { packetText } from '../testing/packet-text.ts'
import { lookUp, question } from '../testing/query-server.ts'

const MESSAGES = 50_000
const SEED = 1_035

let scene: Scene
afterEach(() => scene.close())

test('mutated messages get well-formed responses or none, and nothing else suffers', async () => {
  scene = await openScene()
  const below = seededBelow(SEED)
  const valid = goldenQuestions()
    .filter(({ type }) => type !== 'HTTPS')
    .map(({ type, name }) => question(type, name))
  const codes = new Map<number, number>()
  let silent = 0
  for (let count = 0; count < MESSAGES; count += 1) {
    const message = mutated(valid[below(valid.length)]!, below)
    const response = scene.responder.respond(message, () => 512)
    if (response === undefined) {
      silent += 1
      continue
    }
    if (response instanceof Promise) throw new TypeError('no other server may be queried')
    expect(response.length).toBeLessThanOrEqual(Math.max(512, message.length))
    expect(response.subarray(0, 2)).toEqual(message.subarray(0, 2))
    expect(response[2]! & 0x80).toBe(0x80)
    const code = response[3]! & 0xf
    codes.set(code, (codes.get(code) ?? 0) + 1)
    expect(() => decode(response)).not.toThrow()
  }
  // Every kind of outcome was met: answers, faults, denials, other operations and refusals.
  expect([...codes.keys()].toSorted((a, b) => a - b)).toEqual([0, 1, 3, 4, 5])
  expect(silent).toBeGreaterThan(MESSAGES / 100)
  const { answers } = packetText(await lookUp(scene, 'A', 'web.shop.svc.cluster.local'))
  expect(answers).toEqual(['web.shop.svc.cluster.local A 10.96.0.10'])
})
