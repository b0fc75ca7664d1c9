import { type Cidr, type Family, familyOf, parseCidr, parseIp } from '../../../lib/ip.ts'

/** Built-in verdicts and target extensions; every other jump goes to a chain. */
export const TARGETS: ReadonlySet<string> = new Set([
  'ACCEPT',
  'CONNMARK',
  'CT',
  'DNAT',
  'DROP',
  'LOG',
  'MARK',
  'MASQUERADE',
  'NFLOG',
  'NOTRACK',
  'QUEUE',
  'REDIRECT',
  'REJECT',
  'RETURN',
  'SET',
  'SNAT',
  'TRACE',
])

/** Options of the rules that a proxy may write, by the number of words after them. */
const OPTIONS: ReadonlyMap<string, number> = new Map([
  ...withWords(
    0,
    `
    --random --random-fully --persistent --exist --return-nomatch --rcheck --update --set --reap
    --rsource --rdest --remove --rttl --notrack --save-mark --restore-mark --limit-iface-in
    --limit-iface-out --physdev-is-bridged --physdev-is-in --physdev-is-out --map-mark --nowildcard`,
  ),
  ...withWords(
    1,
    `
    -p -s -d -i -o -m -j -g --protocol --source --destination --match --jump --goto --comment
    --sport --dport --sports --dports --ports --mark --set-mark --set-xmark --xor-mark --or-mark
    --and-mark --probability --mode --every --packet --to-destination --to-source --to-ports
    --ctstate --ctorigsrc --ctorigdst --ctorigdstport --ctorigsrcport --ctproto --ctdir --ctstatus
    --ctreplsrc --ctreplsrcport --dst-type --src-type --reject-with --timeout --name --seconds
    --hitcount --mask --bytecode --object-pinned --nfmask --ctmask --physdev-in --physdev-out
    --icmp-type --icmpv6-type --nfacct-name --log-prefix --log-level --limit --limit-burst --cpu
    --zone --src-range --dst-range --u32`,
  ),
  ...withWords(2, '--match-set --add-set --del-set --map-set --tcp-flags'),
])

function withWords(count: number, options: string): (readonly [string, number])[] {
  return options
    .trim()
    .split(/\s+/)
    .map((option) => [option, count] as const)
}

const NEEDS_PROTOCOL = new Set(['--sport', '--dport', '--sports', '--dports', '--ports'])
const PORT_PROTOCOLS = new Set(['tcp', 'udp', 'sctp', 'dccp', 'udplite'])

export interface ParsedRule {
  /** The chain that `-j` or `-g` names, if it is not a built-in target. */
  readonly chain: string | undefined
  readonly sets: readonly string[]
}

/** Splits a line into words; double quotes keep blanks, a backslash the next character. */
export function splitWords(line: string): string[] | undefined {
  const words: string[] = []
  const pattern = /\s*(?:"((?:[^"\\]|\\.)*)"|([^\s"]+))(?=\s|$)/y
  while (pattern.lastIndex < line.length) {
    const at = pattern.lastIndex
    const match = pattern.exec(line)
    if (match === null) return line.slice(at).trim() === '' ? words : undefined
    words.push(match[2] ?? (match[1] ?? '').replace(/\\(.)/g, '$1'))
  }
  return words
}

/** Checks one rule as far as iptables itself would; a string describes the error. */
export function parseRule(words: readonly string[], family: Family): ParsedRule | string {
  const sets: string[] = []
  let chain: string | undefined
  let protocol: string | undefined
  for (let at = 0; at < words.length; at++) {
    if (words[at] === '!') at++
    const option = words[at] ?? '!'
    const count = OPTIONS.get(option)
    if (count === undefined) return `unknown option ${JSON.stringify(option)}`
    const values = words.slice(at + 1, at + 1 + count)
    if (values.length < count) return `option ${JSON.stringify(option)} requires an argument`
    at += count
    const wrong = checkValue(option, values[0] ?? '', { family, protocol })
    if (wrong !== undefined) return wrong
    if (option === '-p') protocol = values[0]
    if (option.endsWith('-set') && values[0] !== undefined) sets.push(values[0])
    if ((option === '-j' || option === '-g') && !TARGETS.has(values[0] ?? '')) chain = values[0]
  }
  return { chain, sets }
}

interface RuleContext {
  readonly family: Family
  readonly protocol: string | undefined
}

function checkValue(option: string, value: string, context: RuleContext): string | undefined {
  if (option === '-s' || option === '-d') {
    const bad = value.split(',').find((part) => !isNetwork(part, context.family))
    return bad === undefined ? undefined : `host/network ${JSON.stringify(bad)} not found`
  }
  if (NEEDS_PROTOCOL.has(option)) {
    if (!PORT_PROTOCOLS.has(context.protocol ?? '')) return `unknown option ${option} without -p`
    return /^\d{1,5}([:,]\d{1,5})*$/.test(value)
      ? undefined
      : `invalid port ${JSON.stringify(value)}`
  }
  if (option === '--to-destination') {
    if (/^:\d+$/.test(value)) return undefined
    const host = value.replace(/:\d+(-\d+)?$/, '').replace(/^\[(.*)\]$/, '$1')
    return isNetwork(host, context.family) ? undefined : `Bad IP address ${JSON.stringify(value)}`
  }
  return undefined
}

/** `10.0.0.0/8`, or with any mask: `0.0.0.3/0.0.0.15`. */
function isNetwork(text: string, family: Family): boolean {
  const cidr: Cidr | undefined = parseCidr(text)
  if (cidr !== undefined) return familyOf(cidr) === family
  const parts = text.split('/').map((part) => parseIp(part))
  return parts.length === 2 && parts.every((ip) => ip !== undefined && familyOf(ip) === family)
}
