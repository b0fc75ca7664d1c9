import { decode, type OptAnswer } from 'dns-packet'
import { afterEach, describe, expect, test } from 'vitest'
import { service } from '../../cluster/testing/fixtures.ts'
import { parseIp } from '../../lib/ip.ts'
import { openScene, type Scene, type SceneOptions } from '../testing/dns-scene.ts'
import { MANY } from '../testing/golden-cluster.ts'
import { packetText } from '../testing/packet-text.ts'
import { lookUp, queryTcp, queryUdp, question } from '../testing/query-server.ts'

let scene: Scene
async function open(options?: SceneOptions): Promise<void> {
  scene = await openScene(options)
}
afterEach(() => scene.close())

const WEB = 'web.shop.svc.cluster.local'
const MANY_ENDPOINTS = 'many.shop.svc.cluster.local'
const MAX_DATAGRAM = 1_232

/** A question with an OPT record. */
function withOptions(name: string, udpPayloadSize: number, parts: Partial<OptAnswer> = {}): Buffer {
  const opt = {
    type: 'OPT',
    name: '.',
    udpPayloadSize,
    extendedRcode: 0,
    ednsVersion: 0,
    flags: 0,
    flag_do: false,
    options: [],
    ...parts,
  }
  return question('A', name, { additionals: [opt as OptAnswer] })
}

function optionsOf(response: Buffer): OptAnswer | undefined {
  return decode(response).additionals?.find((one): one is OptAnswer => one.type === 'OPT')
}

describe('the header', () => {
  test('of an answer: authoritative, the id and the wish for recursion of the question', async () => {
    await open()
    const packet = decode(await queryUdp(scene, question('A', WEB, { id: 7, flags: 0x0100 })))
    expect(packet).toMatchObject({
      id: 7,
      type: 'response',
      flag_aa: true,
      flag_rd: true,
      flag_ra: false,
      flag_tc: false,
      flag_ad: false,
    })
    const other = decode(await queryUdp(scene, question('A', WEB, { id: 8, flags: 0x0010 })))
    expect(other).toMatchObject({ id: 8, flag_rd: false, flag_cd: true })
  })

  test('of a refusal: not authoritative', async () => {
    await open()
    expect(await lookUp(scene, 'A', 'example.com')).toMatchObject({ flag_aa: false })
  })

  test('of a server that queries others: it offers recursion', async () => {
    await open({ forwarder: { query: () => Promise.resolve({ fault: 'closed' }) } })
    expect(await lookUp(scene, 'A', WEB)).toMatchObject({ flag_ra: true, flag_aa: true })
  })
})

test('the letters of the question is that of the client', async () => {
  await open()
  const name = 'WeB.sHoP.SvC.cLuStEr.LoCaL'
  const { questions, answers } = await lookUp(scene, 'A', name)
  expect(questions?.[0]?.name).toBe(name)
  expect(answers?.[0]?.name).toBe(name)
})

describe('a denial has the start of authority', () => {
  test.each([
    ['A', 'lost.shop.svc.cluster.local'],
    ['AAAA', WEB],
    ['A', 'cluster.local'],
    ['A', '10.0.96.10.in-addr.arpa'],
    ['A', 'alias-lost.shop.svc.cluster.local'],
    ['AAAA', 'alias.shop.svc.cluster.local'],
  ])('%s %s', async (type, name) => {
    await open()
    const { authorities } = await lookUp(scene, type, name)
    expect(authorities).toEqual([
      {
        name: 'cluster.local',
        type: 'SOA',
        ttl: 5,
        class: 'IN',
        flush: false,
        data: {
          mname: 'ns.dns.cluster.local',
          rname: 'hostmaster.cluster.local',
          serial: 2,
          refresh: 7200,
          retry: 1800,
          expire: 86_400,
          minimum: 5,
        },
      },
    ])
  })

  test('whose serial follows the zone', async () => {
    await open()
    const value = service('shop/new', { clusterIPs: [parseIp('10.96.0.77')!] })
    scene.zone.update(scene.store.apply([{ kind: 'service', key: value.key, value }]).services)
    const { authorities } = await lookUp(scene, 'A', 'lost.shop.svc.cluster.local')
    expect(authorities?.[0]).toMatchObject({ data: { serial: 3 } })
  })
})

describe('a change is answered at once', () => {
  test('of a Service', async () => {
    await open()
    await lookUp(scene, 'A', WEB)
    const value = service('shop/web', { clusterIPs: [parseIp('10.96.0.99')!] })
    scene.zone.update(scene.store.apply([{ kind: 'service', key: value.key, value }]).services)
    expect(packetText(await lookUp(scene, 'A', WEB)).answers).toEqual([`${WEB} A 10.96.0.99`])
    const gone = { kind: 'service', key: value.key, value: undefined } as const
    scene.zone.update(scene.store.apply([gone]).services)
    expect(packetText(await lookUp(scene, 'A', WEB)).status).toBe('NXDOMAIN')
  })

  test('of endpoints', async () => {
    await open()
    await lookUp(scene, 'A', 'db.shop.svc.cluster.local')
    const gone = { kind: 'endpoints', name: 'shop/db-a', value: undefined } as const
    scene.zone.update(scene.store.apply([gone]).services)
    expect(packetText(await lookUp(scene, 'A', 'db.shop.svc.cluster.local')).status).toBe(
      'NXDOMAIN',
    )
  })
})

describe('EDNS', () => {
  test('is answered with the size of this server, and the DO bit of the client', async () => {
    await open()
    expect(optionsOf(await queryUdp(scene, withOptions(WEB, 4_096)))).toMatchObject({
      udpPayloadSize: MAX_DATAGRAM,
      extendedRcode: 0,
      ednsVersion: 0,
      flag_do: false,
    })
    const secure = withOptions(WEB, 4_096, { flags: 0x8000, flag_do: true })
    expect(optionsOf(await queryUdp(scene, secure))).toMatchObject({ flag_do: true })
    expect(optionsOf(await queryUdp(scene, question('A', WEB)))).toBeUndefined()
  })

  test('of another version is refused as such', async () => {
    await open()
    const response = await queryUdp(scene, withOptions(WEB, 1_232, { ednsVersion: 1 }))
    expect(optionsOf(response)).toMatchObject({ extendedRcode: 1, ednsVersion: 0 })
    expect(decode(response).answers).toEqual([])
    expect(response[3]! & 0xf).toBe(0)
  })
})

describe('an answer that is too long for a datagram', () => {
  test.each([
    ['without EDNS', question('A', MANY_ENDPOINTS), 512],
    ['with a size below 512', withOptions(MANY_ENDPOINTS, 100), 512],
    ['with 800', withOptions(MANY_ENDPOINTS, 800), 800],
    ['with more than the server sends', withOptions(MANY_ENDPOINTS, 65_535), MAX_DATAGRAM],
  ])('%s holds whole records, and says that it is truncated', async (_, message, limit) => {
    await open()
    const response = await queryUdp(scene, message)
    const { answers = [], flag_tc: isTruncated } = decode(response)
    expect(isTruncated).toBe(true)
    expect(response.length).toBeLessThanOrEqual(limit)
    expect(response.length).toBeGreaterThan(limit - 16)
    const space = limit - question('A', MANY_ENDPOINTS).length - (message.length > 50 ? 11 : 0)
    expect(answers.length).toBe(Math.floor(space / 16))
    expect(scene.statistics.truncated).toBe(1)
  })

  test('is whole over TCP', async () => {
    await open()
    const [response] = await queryTcp(scene, [question('A', MANY_ENDPOINTS)])
    const { answers, flag_tc: isTruncated } = decode(response!)
    expect(isTruncated).toBe(false)
    expect(new Set(answers?.map((answer) => 'data' in answer && answer.data)).size).toBe(MANY)
  })

  test('loses additional records first, without a word', async () => {
    await open()
    const name = '_http._tcp.many.shop.svc.cluster.local'
    const [whole] = await queryTcp(scene, [question('SRV', name)])
    const { answers, additionals } = decode(whole!)
    expect([answers?.length, additionals?.length]).toEqual([MANY, MANY])
    const db = '_sql._tcp.db.shop.svc.cluster.local'
    const long = packetText(await lookUp(scene, 'SRV', db))
    expect(long.additionals).toHaveLength(3)
  })
})

test('answers take turns in being the first', async () => {
  await open()
  const firsts = new Set<unknown>()
  for (let time = 0; time < 3; time += 1) {
    const { answers = [] } = await lookUp(scene, 'A', 'alias-of-db.shop.svc.cluster.local')
    expect(answers.map(({ type }) => type)).toEqual(['CNAME', 'A', 'A', 'A'])
    firsts.add((answers[1] as { readonly data: string }).data)
  }
  expect(firsts.size).toBe(3)
})

describe('a message that is no question of ours', () => {
  const fault = (message: Buffer) => queryUdp(scene, message)

  test.each([
    ['another operation', 4, (message: Buffer) => message.writeUInt8(0x28, 2)],
    ['two questions', 1, (message: Buffer) => message.writeUInt16BE(2, 4)],
    ['no question', 1, (message: Buffer) => message.writeUInt16BE(0, 4)],
    ['an answer in it', 1, (message: Buffer) => message.writeUInt16BE(1, 6)],
    ['a compressed name', 1, (message: Buffer) => message.writeUInt16BE(0xc00c, 12)],
    ['a name that is cut off', 1, (message: Buffer) => message.writeUInt8(60, 12)],
    ['a missing additional record', 1, (message: Buffer) => message.writeUInt16BE(1, 10)],
  ])('%s gets code %i', async (_, rcode, spoil) => {
    await open()
    const message = question('A', WEB)
    spoil(message)
    const response = await fault(message)
    expect(response.readUInt16BE(0)).toBe(4_711)
    expect(response[3]! & 0xf).toBe(rcode)
    expect(response[2]! & 0x80).toBe(0x80)
  })

  test.each([
    [
      'of class CH',
      question('TXT', 'version.bind', {
        questions: [{ type: 'TXT', name: 'version.bind', class: 'CH' }],
      }),
    ],
    ['for a transfer', question('AXFR', 'cluster.local')],
    ['for a transfer of changes', question('IXFR', 'cluster.local')],
  ])('a question %s is refused', async (_, message) => {
    await open()
    expect(packetText(decode(await fault(message))).status).toBe('REFUSED')
  })

  test('a response, and one that is too short, get nothing at all', async () => {
    await open()
    const response = question('A', WEB)
    response.writeUInt8(0x81, 2)
    expect(scene.responder.respond(response, () => 512)).toBeUndefined()
    expect(scene.responder.respond(Buffer.alloc(11), () => 512)).toBeUndefined()
    expect([...scene.statistics.refusals]).toEqual([
      ['response', 1],
      ['short', 1],
    ])
  })
})

describe('before all names are known', () => {
  test('the server fails, so no client keeps a denial', async () => {
    let isReady = false
    await open({ isReady: () => isReady })
    expect(packetText(await lookUp(scene, 'A', WEB)).status).toBe('SERVFAIL')
    isReady = true
    expect(packetText(await lookUp(scene, 'A', WEB)).status).toBe('NOERROR')
  })
})

describe('clients', () => {
  test('of other networks are refused over UDP, and disconnected over TCP', async () => {
    await open({ networks: ['10.0.0.0/8'] })
    const message = question('A', WEB)
    const response = await queryUdp(scene, message)
    expect(packetText(decode(response)).status).toBe('REFUSED')
    expect(response.length).toBeLessThanOrEqual(message.length)
    // The connection is reset or closed, as the kernel likes.
    expect(await queryTcp(scene, [message]).catch(() => [])).toEqual([])
    expect(scene.statistics.refusals.get('network')).toBe(2)
  })

  test('that got too many long datagrams are sent to TCP, and others are not', async () => {
    await open({ bytesPerSecond: 2_000 })
    const message = withOptions(MANY_ENDPOINTS, 1_232)
    const responses: Buffer[] = []
    // Two seconds may begin meanwhile, each with one long datagram.
    for (let time = 0; time < 6; time += 1) responses.push(await queryUdp(scene, message))
    const counts = responses.map((response) => decode(response).answers?.length)
    expect(counts[0]).toBeGreaterThan(50)
    expect(counts).toContain(0)
    const short = responses.find((response) => decode(response).answers?.length === 0)!
    expect(decode(short).flag_tc).toBe(true)
    expect(short.length).toBeLessThanOrEqual(message.length)
    expect(optionsOf(short)).toMatchObject({ udpPayloadSize: MAX_DATAGRAM, options: [] })
    const withoutOptions = await queryUdp(scene, question('A', MANY_ENDPOINTS))
    expect(decode(withoutOptions)).toMatchObject({ flag_tc: true, additionals: [] })
    expect(packetText(await lookUp(scene, 'A', WEB)).answers).toHaveLength(1)
    expect(scene.statistics.limited).toBeGreaterThan(0)
    const [whole] = await queryTcp(scene, [message])
    expect(decode(whole!).answers).toHaveLength(MANY)
  })
})
