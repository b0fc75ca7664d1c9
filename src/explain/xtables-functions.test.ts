import { describe, expect, test } from 'vitest'
import type { Cidr, IpAddress } from '../lib/ip.ts'
import { type FakeNode, fakeFacts, fakeRouting } from './testing/fake-world.ts'
import { type WalkStart, walkPacket } from './walk/walk-packet.ts'
import { parseSets } from './world/read-world.ts'
import { parseRuleset, type XtablesWorld } from './xtables/model/ruleset.ts'
import { DOCKER_RULES, UFW_RULES } from './xtables/testing/firewall-rules.ts'
import { KUBE_PROXY_RULES } from './xtables/testing/kube-proxy-rules.ts'
import { xtablesFunctions } from './xtables-functions.ts'

const ip = (text: string) => text as IpAddress
const NODE: FakeNode = {
  local: [ip('192.168.0.2'), ip('127.0.0.1'), ip('2001:db8::1')],
  routes: [
    { to: '10.180.0.0/16' as Cidr, dev: 'cbr0' },
    { to: '172.17.0.0/16' as Cidr, dev: 'docker0' },
    { to: '0.0.0.0/0' as Cidr, dev: 'eth0' },
    { to: '::/0' as Cidr, dev: 'eth0' },
  ],
}
const OUTSIDE: WalkStart = {
  family: 4,
  protocol: 'TCP',
  src: ip('203.0.113.2'),
  srcPort: undefined,
  dst: ip('192.168.0.2'),
  dstPort: 80,
  inInterface: 'eth0',
}
const POD: WalkStart = {
  ...OUTSIDE,
  src: ip('10.180.0.9'),
  dst: ip('10.96.0.1'),
  inInterface: 'cbr0',
}

interface Given {
  readonly lastSeen?: XtablesWorld['lastSeen']
  readonly sets?: string
}

function walk(listing: string, start: WalkStart, { lastSeen, sets = '' }: Given = {}) {
  const facts = fakeFacts(NODE)
  const world = { facts, sets: parseSets(sets), ...(lastSeen === undefined ? {} : { lastSeen }) }
  const ruleset = parseRuleset(listing)
  const { family } = start
  const functions = xtablesFunctions({ family, program: 'iptables', ruleset }, world)
  return walkPacket({ functions, routing: fakeRouting(NODE), facts }, start)
}

/** A listing of one rule at the start of a chain of `filter` or another table. */
function rules(chain: string, lines: readonly string[], table = 'filter'): string {
  const built = ['PREROUTING', 'INPUT', 'FORWARD', 'OUTPUT', 'POSTROUTING'].map(
    (name) => `:${name} ACCEPT [0:0]`,
  )
  return [
    `*${table}`,
    ...built,
    ':USER - [0:0]',
    ...lines.map((line) => (line.startsWith('-A') ? line : `-A ${chain} ${line}`)),
    'COMMIT',
  ].join('\n')
}

describe('kube-proxy', () => {
  const never = { lastSeen: () => undefined }

  test('a ClusterIP from a pod is shared evenly, source kept', async () => {
    expect(await walk(KUBE_PROXY_RULES, POD, never)).toMatchObject([
      { probability: 0.5, dst: { ip: '10.180.0.1', port: 8080 }, src: '10.180.0.9' },
      { probability: 0.5, dst: { ip: '10.180.0.2', port: 8080 }, src: '10.180.0.9' },
    ])
  })

  test('a pod that reaches itself is masqueraded, towards the other it is not', async () => {
    const outcomes = await walk(KUBE_PROXY_RULES, { ...POD, src: ip('10.180.0.1') }, never)
    const seen = outcomes.map((one) => one.kind === 'delivered' && [one.dst.ip, one.src])
    expect(seen).toEqual([
      ['10.180.0.1', '192.168.0.2'],
      ['10.180.0.2', '10.180.0.1'],
    ])
  })

  test('a node port from outside is masqueraded', async () => {
    const outcomes = await walk(KUBE_PROXY_RULES, { ...OUTSIDE, dstPort: 30_080 }, never)
    expect(outcomes).toMatchObject([{ src: '192.168.0.2' }, { src: '192.168.0.2' }])
  })

  test('affinity decides while it lasts; lists that were not read are uncertain', async () => {
    const seen = (age: number) => ({
      lastSeen: (list: string) => (list === 'KUBE-SEP-B' ? age : undefined),
    })
    expect(await walk(KUBE_PROXY_RULES, POD, seen(10_800))).toMatchObject([
      { probability: 1, dst: { ip: '10.180.0.2' } },
    ])
    expect(await walk(KUBE_PROXY_RULES, POD, seen(10_801))).toHaveLength(2)
    const [unread] = await walk(KUBE_PROXY_RULES, POD)
    expect(unread).toMatchObject({
      kind: 'uncertain',
      reason: expect.stringContaining('KUBE-SEP-A'),
    })
  })

  test('without endpoints it refuses, and the step has the rule and its counter', async () => {
    const [refused] = await walk(KUBE_PROXY_RULES, { ...POD, dst: ip('10.96.0.9') }, never)
    expect(refused).toMatchObject({ kind: 'refused', how: 'icmp-port-unreachable' })
    expect(refused?.steps.at(-1)).toMatchObject({
      where: 'iptables filter KUBE-SERVICES',
      object: expect.stringContaining('ns/empty has no endpoints'),
      counter: { packets: 3n, bytes: 180n },
    })
  })
})

describe('Docker', () => {
  test('a published port leads to the container, another packet is dropped by policy', async () => {
    expect(await walk(DOCKER_RULES, { ...OUTSIDE, dstPort: 8080 })).toMatchObject([
      { kind: 'delivered', dst: { ip: '172.17.0.2', port: 80 }, src: '203.0.113.2' },
    ])
    const [dropped] = await walk(DOCKER_RULES, { ...OUTSIDE, dst: ip('10.180.0.1') })
    expect(dropped).toMatchObject({ kind: 'silent', by: 'iptables filter FORWARD' })
    expect(dropped?.steps.at(-1)?.object).toBe('-P FORWARD DROP')
  })

  test('a container is masqueraded to the outside', async () => {
    const start = { ...OUTSIDE, src: ip('172.17.0.2'), dst: ip('1.2.3.4'), inInterface: 'docker0' }
    expect(await walk(DOCKER_RULES, start)).toMatchObject([{ to: 'forwarded', src: '192.168.0.2' }])
  })
})

describe('ufw', () => {
  test('an open port passes, others are dropped by policy, logged or not', async () => {
    expect(await walk(UFW_RULES, { ...OUTSIDE, dstPort: 22 })).toMatchObject([{ to: 'local' }])
    expect(await walk(UFW_RULES, OUTSIDE)).toMatchObject([
      { kind: 'silent', by: 'iptables filter INPUT' },
    ])
  })

  test('a limited port is uncertain, and the rule is named', async () => {
    const [limited] = await walk(UFW_RULES, { ...OUTSIDE, dstPort: 2222 })
    expect(limited).toMatchObject({
      kind: 'uncertain',
      reason: expect.stringContaining('--hitcount 6'),
    })
  })
})

describe('single matches', () => {
  const dropped = async (match: string, change: Partial<WalkStart> = {}, given: Given = {}) => {
    const [found] = await walk(rules('FORWARD', [`${match} -j DROP`]), { ...POD, ...change }, given)
    return found?.kind
  }

  test.each([
    ['-s 10.180.0.0/16', 'silent'],
    ['! -s 10.180.0.0/16', 'delivered'],
    ['-s 10.0.0.9/255.0.0.255', 'silent'],
    ['-i cbr+ -o eth0', 'silent'],
    ['-i eth0', 'delivered'],
    ['-p udp', 'delivered'],
    ['-p 6', 'silent'],
    ['-p tcp -m tcp --tcp-flags FIN,SYN,RST,ACK SYN', 'silent'],
    ['-p tcp -m tcp ! --tcp-flags FIN,SYN,RST,ACK SYN', 'delivered'],
    ['-p tcp -m tcp --dport 79:80', 'silent'],
    ['-p tcp -m tcp --sport 1:1023', 'delivered'],
    ['-p tcp -m tcp --sport 1024:65535', 'silent'],
    ['-p tcp -m tcp --sport 40000', 'uncertain'],
    ['-p tcp -m multiport --dports 443,8000:9000', 'delivered'],
    ['-p tcp -m multiport ! --dports 443,8000:9000', 'silent'],
    ['-m iprange --src-range 10.180.0.1-10.180.0.8', 'delivered'],
    ['-m conntrack --ctorigdst 10.96.0.1 --ctdir ORIGINAL', 'silent'],
    ['-m conntrack --ctstate DNAT', 'delivered'],
    ['-m state --state NEW', 'silent'],
    ['-m mark --mark 0x1', 'delivered'],
    ['-m limit --limit 1/sec', 'uncertain'],
    ['-d 10.96.0.2/32 -m limit --limit 1/sec', 'delivered'],
    ['-m tcp --new-option 1', 'uncertain'],
    ['-m physdev --physdev-is-bridged', 'delivered'],
    ['-m ipvs --ipvs', 'delivered'],
    ['-m ipvs ! --ipvs', 'silent'],
    ['-m set --match-set missing src', 'uncertain'],
    ['-m comment --comment -j', 'silent'],
    ['-m comment --comment "a \\"quoted\\" -j ACCEPT"', 'silent'],
  ])('%s: %s', async (match, kind) => {
    expect(await dropped(match)).toBe(kind)
  })

  test.each([
    ['hash:ip', '10.180.0.9', 'src', 'silent'],
    ['hash:ip', '10.180.0.8', 'src', 'delivered'],
    ['hash:ip,port', '10.96.0.1,tcp:80', 'dst,dst', 'silent'],
    ['hash:ip,port', '10.96.0.1,udp:80', 'dst,dst', 'delivered'],
    ['hash:ip,port,net', '10.96.0.1,tcp:80,10.180.0.0/24', 'dst,dst,src', 'silent'],
    ['hash:ip,port,net', '10.96.0.1,tcp:80,10.181.0.0/24', 'dst,dst,src', 'delivered'],
    ['hash:net,iface', '10.0.0.0/8,cbr0', 'src,src', 'silent'],
    ['bitmap:port', '80', 'dst', 'silent'],
    ['bitmap:ip', '10.180.0.0-10.180.0.8', 'src', 'delivered'],
    ['hash:ip,port', '10.180.0.9,tcp:5000', 'src,src', 'uncertain'],
    ['hash:mac', '02:00:00:00:00:01', 'src', 'uncertain'],
  ])('set %s of %s by %s: %s', async (type, element, flags, kind) => {
    const sets = `create s ${type} family inet\nadd s ${element}\n`
    expect(await dropped(`-m set --match-set s ${flags}`, {}, { sets })).toBe(kind)
  })

  test('exceptions of a set, sets of sets, negation and counters', async () => {
    const sets = [
      'create n hash:net family inet',
      'add n 10.0.0.0/8',
      'add n 10.180.0.0/24 nomatch',
      'create l list:set size 8',
      'create h hash:ip',
      'add h 10.180.0.9',
      'add l h',
    ].join('\n')
    expect(await dropped('-m set --match-set n src', {}, { sets })).toBe('delivered')
    expect(await dropped('-m set ! --match-set n src', {}, { sets })).toBe('silent')
    expect(await dropped('-m set --match-set l src ! --update-counters', {}, { sets })).toBe(
      'silent',
    )
    expect(await dropped('-m set --match-set h src --packets-gt 3', {}, { sets })).toBe('uncertain')
  })

  test('the words of the comment of an element are no options', async () => {
    const sets =
      'create c hash:net comment\nadd c 10.0.0.0/8 comment "has no nomatch skbmark 0x1"\n'
    expect(await dropped('-m set --match-set c src', {}, { sets })).toBe('silent')
  })
})

describe('flow of rules', () => {
  const kinds = async (lines: readonly string[]) => {
    const found = await walk(rules('FORWARD', lines), POD)
    return found.map(({ kind, probability }) => [kind, Number(probability.toFixed(3))])
  }

  test('RETURN goes on after the call, goto does not come back', async () => {
    expect(await kinds(['-j USER', '-j DROP', '-A USER -j RETURN'])).toEqual([['silent', 1]])
    expect(await kinds(['-g USER', '-j DROP', '-A USER -j RETURN'])).toEqual([['delivered', 1]])
  })

  test('chances multiply', async () => {
    const third = '-m statistic --mode random --probability 0.33333333349'
    expect(
      await kinds([`${third} -j DROP`, '-m statistic --mode nth --every 2 --packet 0 -j REJECT']),
    ).toEqual([
      ['silent', 0.333],
      ['refused', 0.333],
      ['delivered', 0.333],
    ])
  })

  test('a loop of chains ends', async () => {
    expect(await kinds(['-j USER', '-A USER -j USER'])).toEqual([['uncertain', 1]])
  })

  test('an unknown target is uncertain, LOG never', async () => {
    expect(await kinds(['-j NEWTARGET'])).toEqual([['uncertain', 1]])
    expect(await kinds(['-m limit --limit 1/sec -j LOG --log-prefix "-j DROP"'])).toEqual([
      ['delivered', 1],
    ])
  })

  test('control characters of a comment are not shown', async () => {
    const [found] = await walk(rules('FORWARD', ['-m comment --comment "a\u001b[2J" -j DROP']), POD)
    expect(found?.steps.at(-1)?.object).toBe('-A FORWARD -m comment --comment "a?[2J" -j DROP')
  })
})

describe('targets', () => {
  const translated = async (target: string, change: Partial<WalkStart> = {}) => {
    const outcomes = await walk(rules('PREROUTING', [`-j ${target}`], 'nat'), { ...POD, ...change })
    return outcomes.map((one) =>
      one.kind === 'delivered' ? `${one.dst.ip} ${one.dst.port}` : one.kind,
    )
  }

  test.each([
    ['DNAT --to-destination 10.180.0.1', ['10.180.0.1 80']],
    ['DNAT --to-destination 10.180.0.1:81 --persistent', ['10.180.0.1 81']],
    ['DNAT --to-destination :81', ['10.96.0.1 81']],
    ['DNAT --to-destination 10.180.0.1-10.180.0.2:81', ['10.180.0.1 81', '10.180.0.2 81']],
    ['DNAT --to-destination 10.180.0.1:70-90', ['10.180.0.1 80']],
    ['DNAT --to-destination 10.180.0.1:70-79', ['uncertain']],
    ['DNAT --to-destination 10.180.0.1:70-90 --random', ['uncertain']],
    ['DNAT --to-destination 10.180.0.1:81 --random', ['10.180.0.1 81']],
    ['DNAT --to-destination 10.180.0.1:8000-8100/70', ['10.180.0.1 8010']],
    ['DNAT --to-destination 10.180.0.1:8000-8003/75', ['10.180.0.1 8001']],
    ['DNAT --to-destination 10.180.0.1:8000-8006/81', ['10.180.0.1 8001']],
    ['REDIRECT --to-ports 8080', ['192.168.0.2 8080']],
    ['REDIRECT --to-ports 70-90 --random', ['uncertain']],
    ['NETMAP --to 10.180.0.0/16', ['uncertain']],
  ])('%s', async (target, expected) => {
    expect(await translated(target)).toEqual(expected)
  })

  test('IPv6', async () => {
    const six = { family: 6, src: ip('2600:5200::1'), dst: ip('fd00::1') } as const
    expect(await translated('DNAT --to-destination [fd00::2]:81', six)).toEqual(['fd00::2 81'])
    expect(await translated('DNAT --to-destination fd00::2', six)).toEqual(['fd00::2 80'])
  })

  test('a connection that is not tracked is not translated', async () => {
    const raw = rules('PREROUTING', ['-j NOTRACK'], 'raw')
    const nat = rules('PREROUTING', ['-j DNAT --to-destination 10.180.0.1'], 'nat')
    expect(await walk(`${raw}\n${nat}`, POD)).toMatchObject([{ dst: { ip: '10.96.0.1' } }])
  })

  test.each([
    ['--ctorigdst 10.96.0.1', 'delivered'],
    ['--ctstate UNTRACKED', 'silent'],
    ['--ctstate UNTRACKED --ctorigdst 10.96.0.2', 'silent'],
    ['! --ctstate UNTRACKED', 'delivered'],
  ])('a packet that is not tracked, by -m conntrack %s: %s', async (match, kind) => {
    const raw = rules('PREROUTING', ['-j NOTRACK'], 'raw')
    const filter = rules('FORWARD', [`-m conntrack ${match} -j DROP`])
    expect(await walk(`${raw}\n${filter}`, POD)).toMatchObject([{ kind }])
  })

  test('marks: set, saved, restored and matched', async () => {
    const mangle = rules(
      'PREROUTING',
      [
        '-j MARK --set-xmark 0x5/0xf',
        '-j CONNMARK --save-mark --nfmask 0xffffffff --ctmask 0xffffffff',
        '-j MARK --set-xmark 0x0/0xffffffff',
        '-j CONNMARK --restore-mark --nfmask 0x4 --ctmask 0x4',
      ],
      'mangle',
    )
    const filter = rules('FORWARD', ['-m mark --mark 0x4/0xff -m connmark --mark 0x5 -j DROP'])
    expect(await walk(`${mangle}\n${filter}`, POD)).toMatchObject([{ kind: 'silent' }])
  })

  test('what a packet adds to a set, its later rules find', async () => {
    const sets = 'create a hash:ip family inet timeout 10800\n'
    const lines = [
      '-j SET --add-set a src --exist --timeout 10800',
      '-m set --match-set a src -j DROP',
    ]
    expect(await walk(rules('FORWARD', lines), POD, { sets })).toMatchObject([{ kind: 'silent' }])
    const undone = [lines[0]!, '-j SET --del-set a src', lines[1]!]
    expect(await walk(rules('FORWARD', undone), POD, { sets })).toMatchObject([
      { kind: 'delivered' },
    ])
  })

  test('the mark of an element', async () => {
    const sets = 'create m hash:ip skbinfo\nadd m 10.180.0.9 skbmark 0x4000/0x4000\n'
    const lines = ['-j SET --map-set m src --map-mark', '-m mark --mark 0x4000/0x4000 -j DROP']
    expect(await walk(rules('FORWARD', lines), POD, { sets })).toMatchObject([{ kind: 'silent' }])
  })
})

test('an element that has a timeout says how long it decides; one that stays does not', async () => {
  const known = async (sets: string) => {
    const [outcome] = await walk(rules('FORWARD', ['-m set --match-set a src -j ACCEPT']), POD, {
      sets,
    })
    return outcome?.steps.map(({ secondsLeft }) => secondsLeft)
  }
  const temporary = 'create a hash:ip family inet timeout 10800\n'
  expect(await known(`${temporary}add a 10.180.0.9 timeout 9000\n`)).toContain(9000)
  expect(await known(`${temporary}add a 10.180.0.9 timeout 0\n`)).not.toContain(0)
  expect(await known('create a hash:ip family inet\nadd a 10.180.0.9\n')).not.toContain(9000)
})
