import { decode } from 'dns-packet'
import { afterEach, describe, expect, test } from 'vitest'
import type { ForwardedAnswer } from '../forward/forwarder.ts'
import type { ForwardQuestion } from '../forward/message/query.ts'
import { openScene, type Scene } from '../testing/dns-scene.ts'
import { packetText } from '../testing/packet-text.ts'
import { lookUp, queryTcp, queryUdp, question } from '../testing/query-server.ts'

let scene: Scene
const questions: ForwardQuestion[] = []
async function open(answer: ForwardedAnswer): Promise<void> {
  questions.length = 0
  const forwarder = {
    query: (received: ForwardQuestion) => {
      questions.push(received)
      return Promise.resolve(answer)
    },
  }
  scene = await openScene({ forwarder })
}
afterEach(() => scene.close())

const address = (name: string, data: string) =>
  ({ name, type: 'A', class: 'IN', ttl: 77, data }) as const

function found(...answers: ReturnType<typeof address>[]): ForwardedAnswer {
  return { source: 'upstream', rcode: 0, isAuthentic: false, answers, authorities: [] }
}

describe('a name of another domain', () => {
  test('is forwarded with its type and flags, and the answer is not authoritative', async () => {
    await open(found(address('www.example.com', '192.0.2.1')))
    const packet = await lookUp(scene, 'A', 'Www.Example.com')
    expect(packetText(packet)).toEqual({
      status: 'NOERROR',
      answers: ['www.example.com A 192.0.2.1'],
      additionals: [],
    })
    expect(packet).toMatchObject({ flag_aa: false, flag_ra: true, flag_ad: false })
    expect(packet.questions?.[0]?.name).toBe('Www.Example.com')
    expect(questions).toEqual([
      {
        name: 'www.example.com',
        type: 1,
        klass: 1,
        dnssecOk: false,
        checkingDisabled: false,
      },
    ])
  })

  test('is refused to a client that wants no recursion', async () => {
    await open(found())
    const packet = decode(await queryUdp(scene, question('A', 'example.com', { flags: 0 })))
    expect(packetText(packet).status).toBe('REFUSED')
    expect(questions).toEqual([])
  })

  test('that no server answers is a failure', async () => {
    await open({ fault: 'unanswered' })
    expect(packetText(await lookUp(scene, 'A', 'example.com')).status).toBe('SERVFAIL')
  })

  test('keeps the mark of a validated answer', async () => {
    await open({ ...(found() as object), isAuthentic: true } as ForwardedAnswer)
    expect(await lookUp(scene, 'A', 'example.com')).toMatchObject({ flag_ad: true })
  })

  test('keeps NXDOMAIN and its start of authority', async () => {
    const data = {
      mname: 'a.example',
      rname: 'b.example',
      serial: 1,
      refresh: 2,
      retry: 3,
      expire: 4,
      minimum: 5,
    }
    const soa = { name: 'example', type: 'SOA', class: 'IN', ttl: 9, data } as const
    const denial = { source: 'cache', rcode: 3, isAuthentic: false, answers: [] } as const
    await open({ ...denial, authorities: [soa] })
    const packet = await lookUp(scene, 'A', 'lost.example')
    expect(packetText(packet).status).toBe('NXDOMAIN')
    expect(packet.authorities).toMatchObject([{ name: 'example', ttl: 9, data }])
  })

  test('over TCP, beside names of the cluster', async () => {
    await open(found(address('example.com', '192.0.2.1')))
    const names = ['example.com', 'web.shop.svc.cluster.local', 'example.com']
    const responses = await queryTcp(
      scene,
      names.map((name, id) => question('A', name, { id })),
    )
    const byId = responses
      .map((response) => decode(response))
      .toSorted((one, other) => one.id! - other.id!)
    expect(byId.map((packet) => packet.answers?.[0])).toMatchObject([
      { data: '192.0.2.1' },
      { data: '10.96.0.10' },
      { data: '192.0.2.1' },
    ])
  })
})

test('answers are timed, those of other servers apart, and refusals are not', async () => {
  let ms = 0
  scene = await openScene({
    now: () => ms,
    forwarder: {
      query: () => {
        ms += 40
        return Promise.resolve(found())
      },
    },
  })
  await lookUp(scene, 'A', 'web.shop.svc.cluster.local')
  await lookUp(scene, 'A', 'www.example.com')
  await queryUdp(scene, question('A', 'www.example.com', { flags: 0 }))
  const { cluster, other } = scene.statistics.durations
  const timed = ({ counts, bounds, sum }: typeof other) => ({
    sum,
    upTo: counts.flatMap((count, index) => Array<number | undefined>(count).fill(bounds[index])),
  })
  expect(timed(cluster)).toEqual({ sum: 0, upTo: [0.0001] })
  expect(timed(other)).toEqual({ sum: 0.04, upTo: [0.05] })
})

test('an alias that leads out of the cluster is followed there', async () => {
  await open(found(address('db.example.com', '192.0.2.7'), address('db.example.com', '192.0.2.8')))
  const { answers } = packetText(await lookUp(scene, 'A', 'alias-outside.shop.svc.cluster.local'))
  expect(answers).toEqual([
    'alias-outside.shop.svc.cluster.local CNAME outside.shop.svc.cluster.local',
    'db.example.com A 192.0.2.7',
    'db.example.com A 192.0.2.8',
    'outside.shop.svc.cluster.local CNAME db.example.com',
  ])
  expect(questions).toMatchObject([{ name: 'db.example.com' }])
})

test('a name with bytes that are no letters is forwarded as those bytes', async () => {
  await open(found())
  const message = question('A', 'axb.example.com')
  message[14] = 0x2e
  await queryUdp(scene, message)
  expect(questions).toMatchObject([{ name: String.raw`a\046b.example.com` }])
})
