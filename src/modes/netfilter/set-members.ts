import {
  type Member,
  memberText,
  type SetCommand,
  type SetHeader,
  type Sets,
  type SetType,
} from '../../kernel/ipset/sets.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { inGroups } from '../../lib/groups.ts'
import type { Digest, KernelError, ObjectKey } from '../mode.ts'
import { ALTERED, kindOf, memberKey, memberOf, nameOf, PRESENT, setKey } from './object-key.ts'
import { type KeptSet, parseMember } from './role-sets.ts'

/** Commands made at a time, lest those of tens of thousands of members cost memory. */
const AT_ONCE = 1024

/** A set's member that carries no mark where all should. */
const UNMARKED = 0 as Digest

/** The sets that a mode keeps, and what they are written with. */
export interface SetMembersOptions {
  readonly sets: Sets
  /** Begins the name of every set of the mode, and of nothing else. */
  readonly prefix: string
  readonly kept: readonly KeptSet[]
  /** Of refusals. */
  readonly code: string
}

/** The sets of one mode and what is in them, as last read or written. */
export class SetMembers {
  readonly #sets: Sets
  readonly #prefix: string
  readonly #code: string
  readonly #wanted: ReadonlyMap<string, KeptSet>
  readonly #known = new Map<string, Map<string, Digest>>()

  constructor({ sets, prefix, kept, code }: SetMembersOptions) {
    this.#sets = sets
    this.#prefix = prefix
    this.#code = code
    this.#wanted = new Map(kept.map((set) => [set.name, set]))
  }

  /** Every member of every set. */
  keys(): readonly ObjectKey[] {
    return [...this.#known.keys()].flatMap((set) => this.keysIn(set))
  }

  /** Members of one set; of those with marks only the ones with this mark, if one is given. */
  keysIn(set: string, mark?: number): readonly ObjectKey[] {
    return [...(this.#known.get(set) ?? [])]
      .filter(([, digest]) => mark === undefined || digest === mark)
      .map(([member]) => memberKey(set, member))
  }

  /** Whether a set has the member, as last read or written. */
  has(set: string, member: string): boolean {
    return this.#known.get(set)?.has(member) ?? false
  }

  /** Makes the sets of these keys; one that exists with its type is left as it is. Returns refusals. */
  create(keys: readonly ObjectKey[]): Promise<ReadonlyMap<ObjectKey, KernelError>> {
    const wanted = keys.filter((key) => this.#wanted.has(nameOf(key)))
    return this.#run(wanted, (key) => {
      const name = nameOf(key)
      return { do: 'create', name, type: this.#wanted.get(name)!.type }
    })
  }

  /** Of a member with a mark, the mark is the digest. */
  async add(
    keys: readonly ObjectKey[],
    markOf: (key: ObjectKey) => number | undefined = () => undefined,
  ): Promise<ReadonlyMap<ObjectKey, KernelError>> {
    const failed = await this.#run(keys, (key) => {
      const { set: name, member } = memberOf(key)
      return { do: 'add', name, member: this.#content(name, member, markOf(key)) }
    })
    for (const key of keys) {
      if (failed.has(key)) continue
      const { set, member } = memberOf(key)
      const isMarked = this.#wanted.get(set)?.type.withMark
      this.#of(set).set(member, isMarked ? ((markOf(key) ?? UNMARKED) as Digest) : PRESENT)
    }
    return failed
  }

  /** Deletes members; those of a set that is not kept are only forgotten. Returns refusals. */
  async delete(keys: readonly ObjectKey[]): Promise<ReadonlyMap<ObjectKey, KernelError>> {
    const present = keys.filter((key) => this.#wanted.has(memberOf(key).set))
    const failed = await this.#run(present, (key) => {
      const { set: name, member } = memberOf(key)
      return { do: 'delete', name, member: parseMember(member) }
    })
    for (const key of keys) {
      const { set, member } = memberOf(key)
      if (!failed.has(key)) this.#known.get(set)?.delete(member)
    }
    return failed
  }

  /** Removes sets with their members; the kernel refuses one that a rule names. Returns refusals. */
  async destroy(keys: readonly ObjectKey[]): Promise<ReadonlyMap<ObjectKey, KernelError>> {
    const failed = await this.#run(keys, (key) => ({ do: 'destroy', name: nameOf(key) }))
    for (const key of keys) if (!failed.has(key)) this.#known.delete(nameOf(key))
    return failed
  }

  /** Reads everything, or the sets that some keys of sets and members name, and returns what concerns the program. */
  async observe(keys?: readonly ObjectKey[]): Promise<ReadonlyMap<ObjectKey, Digest>> {
    const seen = new Map<ObjectKey, Digest>()
    if (keys?.length === 0) return seen
    const only = keys && new Set(keys.map(setOf))
    const headers = await this.#sets.headers(this.#prefix)
    for (const [name, header] of headers) {
      const wanted = this.#wanted.get(name)
      seen.set(setKey(name), isAsWanted(header, wanted?.type) ? PRESENT : ALTERED)
      if (wanted && (only === undefined || only.has(name))) await this.#read(name)
    }
    for (const name of this.#wanted.keys()) {
      if (!headers.has(name)) this.#known.delete(name)
      if (only && !only.has(name)) continue
      if (this.#wanted.get(name)?.isPrivate) continue
      for (const [member, digest] of this.#known.get(name) ?? []) {
        seen.set(memberKey(name, member), digest)
      }
    }
    return seen
  }

  /** Names of the sets that hold more or fewer members than we know of: one cheap question. */
  async disturbed(): Promise<readonly string[]> {
    const headers = await this.#sets.headers(this.#prefix)
    return this.names.filter((name) => headers.get(name)?.entries !== this.sizeOf(name))
  }

  /** Of the sets that the mode keeps, there or not. */
  get names(): readonly string[] {
    return [...this.#wanted.keys()]
  }

  /** Members that a set has, as far as we know. */
  sizeOf(name: string): number {
    return this.#known.get(name)?.size ?? 0
  }

  /** Members of one set that are more, fewer or marked otherwise than we know of. */
  async alteredIn(name: string): Promise<readonly ObjectKey[]> {
    const known = this.#of(name)
    const found = await this.#membersOf(name)
    const others = [...found].filter(([member, digest]) => known.get(member) !== digest)
    const gone = [...known].filter(([member]) => !found.has(member))
    return [...others, ...gone].map(([member]) => memberKey(name, member))
  }

  /** Removes all sets with our prefix; throws the code of what stays. */
  async removeAll(): Promise<void> {
    const names = (await this.#sets.names(this.#prefix)).filter((name) => !isOfProbe(name))
    const [refusal] = (await this.destroy(names.map(setKey))).values()
    if (refusal === undefined) return
    throw new NodeProxyError(refusal.code, `a set could not be removed: ${refusal.message}`)
  }

  async #read(name: string): Promise<void> {
    this.#known.set(name, await this.#membersOf(name))
  }

  async #membersOf(name: string): Promise<Map<string, Digest>> {
    const members = await this.#sets.members(name)
    const marked = this.#wanted.get(name)?.type.withMark
    const digest = ({ mark }: Member) => (marked ? ((mark?.value ?? UNMARKED) as Digest) : PRESENT)
    return new Map(members?.map((member) => [memberText(member), digest(member)]))
  }

  #content(name: string, text: string, mark: number | undefined): Member {
    const member = parseMember(text)
    if (!this.#wanted.get(name)?.type.withMark) return member
    return { ...member, mark: { value: mark ?? 0, mask: 0xffffffff } }
  }

  #of(set: string): Map<string, Digest> {
    const known = this.#known.get(set) ?? new Map<string, Digest>()
    this.#known.set(set, known)
    return known
  }

  async #run(
    keys: readonly ObjectKey[],
    commandFor: (key: ObjectKey) => SetCommand,
  ): Promise<ReadonlyMap<ObjectKey, KernelError>> {
    const failed = new Map<ObjectKey, KernelError>()
    for (const some of inGroups(keys, AT_ONCE)) {
      for (const { index, message } of await this.#sets.run(some.map(commandFor))) {
        const key = some[index]
        if (key) failed.set(key, { code: this.#code, message })
      }
    }
    return failed
  }
}

function setOf(key: ObjectKey): string {
  return kindOf(key) === 'set' ? nameOf(key) : memberOf(key).set
}

function isAsWanted(header: SetHeader, type: SetType | undefined): boolean {
  if (type === undefined) return false
  const isMarked = type.withMark ?? false
  return header.type === type.type && header.family === type.family && header.withMark === isMarked
}

/** Another process may be probing this kernel right now; it removes its own sets. */
function isOfProbe(name: string): boolean {
  return name.includes('PROBE-')
}
