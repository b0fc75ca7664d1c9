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

/** Commands generated at a time, because those for tens of thousands of members would take much memory. */
const AT_ONCE = 1024

/** A set's member without a mark, in a set where all should have one. */
const UNMARKED = 0 as Digest

/** The sets that a mode keeps, and the parameters for writing them. */
export interface SetMembersOptions {
  readonly sets: Sets
  /** The prefix of the names of all sets of the mode, which no other set has. */
  readonly prefix: string
  readonly kept: readonly KeptSet[]
  /** The error code of refusals. */
  readonly code: string
}

/** The sets of one mode and what is in them, as last read or written. */
export class SetMembers {
  readonly #sets: Sets
  readonly #prefix: string
  readonly #code: string
  readonly #wanted: ReadonlyMap<string, KeptSet>
  readonly #digests = new Map<string, Map<string, Digest>>()

  constructor({ sets, prefix, kept, code }: SetMembersOptions) {
    this.#sets = sets
    this.#prefix = prefix
    this.#code = code
    this.#wanted = new Map(kept.map((set) => [set.name, set]))
  }

  /** Every member of every set. */
  keys(): readonly ObjectKey[] {
    return [...this.#digests.keys()].flatMap((set) => this.keysIn(set))
  }

  /** Members of one set; with `mark`, only the members with this mark. */
  keysIn(set: string, mark?: number): readonly ObjectKey[] {
    return [...(this.#digests.get(set) ?? [])]
      .filter(([, digest]) => mark === undefined || digest === mark)
      .map(([member]) => memberKey(set, member))
  }

  /** Whether a set has the member, as last read or written. */
  has(set: string, member: string): boolean {
    return this.#digests.get(set)?.has(member) ?? false
  }

  /** Creates the sets of these keys; one that exists with the wanted type is left as it is. Returns refusals. */
  create(keys: readonly ObjectKey[]): Promise<ReadonlyMap<ObjectKey, KernelError>> {
    const wanted = keys.filter((key) => this.#wanted.has(nameOf(key)))
    return this.#run(wanted, (key) => {
      const name = nameOf(key)
      return { do: 'create', name, type: this.#wanted.get(name)!.type }
    })
  }

  /** Adds members; the digest of a member with a mark is the mark. Returns refusals. */
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

  /** Deletes members; those of a set that is not in use are only removed from the record. Returns refusals. */
  async delete(keys: readonly ObjectKey[]): Promise<ReadonlyMap<ObjectKey, KernelError>> {
    const present = keys.filter((key) => this.#wanted.has(memberOf(key).set))
    const failed = await this.#run(present, (key) => {
      const { set: name, member } = memberOf(key)
      return { do: 'delete', name, member: parseMember(member) }
    })
    for (const key of keys) {
      const { set, member } = memberOf(key)
      if (!failed.has(key)) this.#digests.get(set)?.delete(member)
    }
    return failed
  }

  /** Removes sets with their members; the kernel refuses one that a rule names. Returns refusals. */
  async destroy(keys: readonly ObjectKey[]): Promise<ReadonlyMap<ObjectKey, KernelError>> {
    const failed = await this.#run(keys, (key) => ({ do: 'destroy', name: nameOf(key) }))
    for (const key of keys) if (!failed.has(key)) this.#digests.delete(nameOf(key))
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
      if (!headers.has(name)) this.#digests.delete(name)
      if (only && !only.has(name)) continue
      if (this.#wanted.get(name)?.isPrivate) continue
      for (const [member, digest] of this.#digests.get(name) ?? []) {
        seen.set(memberKey(name, member), digest)
      }
    }
    return seen
  }

  /** Names of the sets that hold more or fewer members than recorded; a single cheap request. */
  async disturbed(): Promise<readonly string[]> {
    const headers = await this.#sets.headers(this.#prefix)
    return this.names.filter((name) => headers.get(name)?.entries !== this.sizeOf(name))
  }

  /** The names of the sets that the mode keeps, whether they exist or not. */
  get names(): readonly string[] {
    return [...this.#wanted.keys()]
  }

  /** The recorded number of members of a set. */
  sizeOf(name: string): number {
    return this.#digests.get(name)?.size ?? 0
  }

  /** Members of one set that were added, removed or marked differently since they were recorded. */
  async alteredIn(name: string): Promise<readonly ObjectKey[]> {
    const known = this.#of(name)
    const found = await this.#membersOf(name)
    const others = [...found].filter(([member, digest]) => known.get(member) !== digest)
    const gone = [...known].filter(([member]) => !found.has(member))
    return [...others, ...gone].map(([member]) => memberKey(name, member))
  }

  /** Removes all sets with our prefix; throws the code of the first refusal. */
  async removeAll(): Promise<void> {
    const names = (await this.#sets.names(this.#prefix)).filter((name) => !isOfProbe(name))
    const [refusal] = (await this.destroy(names.map(setKey))).values()
    if (refusal === undefined) return
    throw new NodeProxyError(refusal.code, `a set could not be removed: ${refusal.message}`)
  }

  async #read(name: string): Promise<void> {
    this.#digests.set(name, await this.#membersOf(name))
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
    const known = this.#digests.get(set) ?? new Map<string, Digest>()
    this.#digests.set(set, known)
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

/** Another process may be probing this kernel at the moment; it removes its own sets. */
function isOfProbe(name: string): boolean {
  return name.includes('PROBE-')
}
