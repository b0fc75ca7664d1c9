import { constants } from 'node:os'
import { getSystemErrorName } from 'node:util'
import type { SetCommand } from './sets.ts'

/** Refusals for which ipset has its own numbers (linux/netfilter/ipset/ip_set.h, ip_set_hash.h). */
export const IPSET_ERR = {
  protocol: 4097,
  noSuchType: 4098,
  tooManySets: 4099,
  busy: 4100,
  prefix: 4104,
  family: 4106,
  timeout: 4107,
  notIpv4: 4109,
  notIpv6: 4110,
  mark: 4114,
  full: 4352,
  zeroAddress: 4353,
  wrongProtocol: 4354,
  noProtocol: 4355,
} as const

const { ENOENT, EEXIST, EINVAL, EPERM, ENOMEM } = constants.errno
const MAX_NAME_LENGTH = 31

/** What is wrong with a name, found before any request; the kernel would take an empty name for all sets. */
export function nameProblem(name: string): string | undefined {
  if (name === '') return 'a set needs a name'
  if (name.length > MAX_NAME_LENGTH) return `the name has more than ${MAX_NAME_LENGTH} characters`
  return /^[\x21-\x7e]+$/.test(name)
    ? undefined
    : 'the name has characters other than printable ASCII'
}

/** One line: why the kernel refused `command`, and the remedy. */
export function commandErrorText(errno: number, command: SetCommand): string {
  const words = WORDS.get(errno)
  if (words !== undefined) return words(command)
  const reason = errno < 4096 ? getSystemErrorName(-errno) : `ipset error ${errno}`
  return `${command.do} ${command.name}: ${reason}`
}

type Words = (command: SetCommand) => string

const WORDS: ReadonlyMap<number, Words> = new Map<number, Words>([
  [ENOENT, ({ name }) => `there is no set ${name}`],
  [
    EEXIST,
    ({ name }) => `a set ${name} of another type or with other limits exists: destroy it first`,
  ],
  [EINVAL, invalid],
  [EPERM, () => 'not permitted: run with CAP_NET_ADMIN'],
  [ENOMEM, () => 'the kernel has no memory for it'],
  [IPSET_ERR.protocol, (command) => `${command.do} ${command.name}: ${misfit(command)}`],
  [IPSET_ERR.noSuchType, noSuchType],
  [IPSET_ERR.tooManySets, () => 'a network namespace can have at most 65,534 sets'],
  [
    IPSET_ERR.busy,
    ({ name }) =>
      `in use by a kernel component: a rule or another set names ${name} (iptables-save, ipset list)`,
  ],
  [IPSET_ERR.prefix, () => 'a set cannot have a network of prefix length 0: add its two halves'],
  [IPSET_ERR.family, () => 'the set type does not support this address family'],
  [
    IPSET_ERR.timeout,
    ({ name }) => `${name} was created without timeout, so no member can have one`,
  ],
  [IPSET_ERR.notIpv4, ({ name }) => `${name} takes IPv4 addresses only`],
  [IPSET_ERR.notIpv6, ({ name }) => `${name} takes IPv6 addresses only`],
  [IPSET_ERR.mark, ({ name }) => `${name} was created without marks (skbinfo)`],
  [IPSET_ERR.full, ({ name }) => `${name} is full: create it again with a larger maxelem`],
  [IPSET_ERR.zeroAddress, () => 'the unspecified address cannot be a member'],
  [IPSET_ERR.wrongProtocol, () => 'the set type does not support this protocol'],
  [IPSET_ERR.noProtocol, ({ name }) => `members of ${name} need a protocol`],
])

function noSuchType(command: SetCommand): string {
  if (command.do !== 'create') return 'the kernel lost the type of the set'
  const { type, family } = command.type
  const module = `ip_set_${type.replace(':', '_').replaceAll(',', '')}`
  return `the kernel has no set type ${type} for IPv${family}: modprobe ${module}`
}

function invalid(command: SetCommand): string {
  return command.do === 'add' || command.do === 'delete'
    ? 'the kernel does not accept this member (not every kernel accepts the unspecified address)'
    : 'the kernel has no IP sets, or no sets of this size: modprobe ip_set'
}

function misfit(command: SetCommand): string {
  return command.do === 'add' || command.do === 'delete'
    ? 'the member has another family, or other parts than the set type requires'
    : 'the kernel does not understand the request'
}
