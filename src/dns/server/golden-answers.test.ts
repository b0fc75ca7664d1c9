import { decode } from 'dns-packet'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openScene, type Scene } from '../testing/dns-scene.ts'
import { goldenQuestions } from '../testing/golden-questions.ts'
import { packetText } from '../testing/packet-text.ts'
import { queryTcp, queryUdp, question } from '../testing/query-server.ts'

let scene: Scene
beforeAll(async () => {
  scene = await openScene()
})
afterAll(() => scene.close())

/** Types that the library cannot name in a question are queried by programs (`test/kernel/dns`). */
const QUESTIONS = goldenQuestions().filter(({ type }) => type !== 'HTTPS')

describe('over UDP, first computed and then kept', () => {
  test.each(QUESTIONS)('$type $name', async ({ type, name, ...expected }) => {
    const message = question(type, name)
    for (let time = 0; time < 2; time += 1) {
      const packet = decode(await queryUdp(scene, message))
      expect(packetText(packet)).toEqual(expected)
      expect(packet.questions).toEqual([{ type, name, class: 'IN' }])
      expect(packet.id).toBe(4_711)
    }
  })
})

test('over one connection of TCP', async () => {
  const responses = await queryTcp(
    scene,
    QUESTIONS.map(({ type, name }) => question(type, name)),
  )
  const expected = QUESTIONS.map(({ status, answers, additionals }) => ({
    status,
    answers,
    additionals,
  }))
  expect(responses.map((response) => packetText(decode(response)))).toEqual(expected)
})
