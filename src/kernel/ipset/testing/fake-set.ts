import { constants } from 'node:os'
import { type Cidr, type Family, familyOf, type IpAddress } from '../../../lib/ip.ts'
import { IPSET_ERR } from '../ipset-error.ts'
import { type Member, memberText, type SetHeader, type SetType } from '../sets.ts'

/** The number of buckets that the kernel uses if no size, or too small a one, is given. */
const BUCKETS = 1024
const FEWEST_BUCKETS = 64
const EMPTY_BYTES = 216
const MEMBER_BYTES = 32

/** One set, with the checks of the kernel's hash types in their order. */
export class FakeSet {
  readonly members = new Map<string, Member>()
  readonly #type: SetType

  constructor(type: SetType) {
    this.#type = type
  }

  header(references: number): SetHeader {
    const { type, family, maxElements, hashSize, timeout, withMark, counters } = this.#type
    const entries = this.members.size
    return {
      type,
      family,
      maxElements,
      hashSize: Math.max(hashSize ?? BUCKETS, FEWEST_BUCKETS),
      timeout,
      withMark: withMark ?? false,
      counters: counters ?? false,
      references,
      entries,
      memory: EMPTY_BYTES + entries * MEMBER_BYTES,
    }
  }

  /** Returns 0 if a set created with `type` would be the same as this one, else the errno. */
  compare(type: SetType): number {
    const options = (of: SetType) =>
      [of.type, of.maxElements, of.timeout, !!of.withMark, !!of.counters].join()
    return options(type) === options(this.#type) ? 0 : constants.errno.EEXIST
  }

  add(member: Member): number {
    const refused = this.#misfit(member) || this.#surplus(member)
    if (refused !== 0) return refused
    const key = memberText(member)
    const isFull = this.members.size >= this.#type.maxElements
    if (isFull && !this.members.has(key)) return IPSET_ERR.full
    const { ip, protocol, port, net, mark } = member
    const timeout = member.timeout ?? this.#type.timeout
    this.members.set(key, {
      ip,
      ...(protocol && { protocol }),
      ...(port !== undefined && { port }),
      ...(net && { net }),
      ...(timeout !== undefined && { timeout }),
      ...(mark && (mark.value !== 0 || mark.mask !== 0) && { mark }),
    })
    return 0
  }

  delete(member: Member): number {
    const refused = this.#misfit(member)
    if (refused === 0) this.members.delete(memberText(member))
    return refused
  }

  #misfit({ ip, protocol, port, net }: Member): number {
    const { type, family } = this.#type
    if (type === 'hash:ip') {
      const hasMore = protocol !== undefined || port !== undefined || net !== undefined
      if (hasMore || !fits(ip, family)) return IPSET_ERR.protocol
      return ip === '0.0.0.0' || ip === '::' ? IPSET_ERR.zeroAddress : 0
    }
    const wantsNet = type === 'hash:ip,port,net'
    if ((net !== undefined) !== wantsNet || port === undefined) return IPSET_ERR.protocol
    if (!fits(ip, family) || (net && !fits(net, family))) return IPSET_ERR.protocol
    if (net?.endsWith('/0')) return IPSET_ERR.prefix
    return protocol === undefined ? IPSET_ERR.noProtocol : 0
  }

  #surplus({ timeout, mark }: Member): number {
    if (timeout !== undefined && this.#type.timeout === undefined) return IPSET_ERR.timeout
    return mark && !this.#type.withMark ? IPSET_ERR.mark : 0
  }
}

function fits(address: IpAddress | Cidr, family: Family): boolean {
  return familyOf(address) === family
}
