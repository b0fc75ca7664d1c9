import { constants } from 'node:os'
import { align } from '../../netlink/message.ts'
import type { Verdict } from '../expression.ts'
import type { Element, FieldType } from '../objects.ts'
import { lengthOf } from '../user-data.ts'
import { checkVerdict } from './check-rule.ts'
import type { HeldElement } from './element-store.ts'
import type { FakeSet } from './fake-set.ts'
import type { FakeTable } from './fake-table.ts'
import { FieldRanges } from './field-ranges.ts'
import type { Journal } from './journal.ts'
import { RangeBounds } from './range-bounds.ts'

const { EEXIST, EINVAL, ENFILE, ENOENT } = constants.errno

/** A set of a table, and the transaction that changes it. */
export interface ElementWork {
  readonly table: FakeTable
  readonly set: FakeSet
  readonly journal: Journal
  /** Milliseconds. */
  readonly now: number
}

/** The errno of the first element that the kernel refuses; 0 if all were added. */
export function addElements(elements: readonly Element[], work: ElementWork): number {
  for (const element of elements) {
    const errno = checkNew(element, work)
    if (errno !== 0) return errno
    for (const half of halvesOf(element, work)) {
      const refused = insert(half, work)
      if (refused !== 0) return refused
    }
  }
  return 0
}

/** The errno of the first element that does not exist; 0 if all were deleted. */
export function deleteElements(
  elements: readonly Pick<Element, 'key' | 'keyEnd'>[],
  work: ElementWork,
): number {
  for (const element of elements) {
    const errno = checkKeys(element, work.set)
    if (errno !== 0) return errno
    for (const half of halvesOf(element, work)) {
      const held = work.set.store.toDelete(half, work.now)
      if (held === undefined) return ENOENT
      removeElement(held, work)
    }
  }
  return 0
}

/** Removes an element and releases the chain that it leads to. */
export function removeElement(held: HeldElement, work: Omit<ElementWork, 'now'>): void {
  const { journal, set } = work
  set.store.remove(held)
  useTarget(held, work, -1)
  journal.record(() => {
    set.insert(held)
    useTarget(held, work, 1)
  })
}

/** Inserts an element without checks. */
function putElement(held: HeldElement, work: ElementWork): void {
  const { journal, set } = work
  set.insert(held)
  useTarget(held, work, 1)
  journal.record(() => {
    set.store.remove(held)
    useTarget(held, work, -1)
  })
}

/** Increases or decreases the use counts of chains. */
export function useTarget(
  { element: { data } }: HeldElement,
  { table, set }: Pick<ElementWork, 'table' | 'set'>,
  by: 1 | -1,
): void {
  const name = chainOf(data)
  const chain = name === undefined ? undefined : table.chains.get(name)
  if (name === undefined || chain === undefined) return
  chain.uses += by
  set.count(name, by)
}

export function chainOf(data: Element['data']): string | undefined {
  return data && 'chain' in data ? data.chain : undefined
}

function checkNew(element: Element, { table, set }: ElementWork): number {
  const { data, timeout } = element
  if (timeout && !set.spec.hasTimeouts) return EINVAL
  const errno = checkKeys(element, set)
  return errno === 0 ? checkData(data, set, table) : errno
}

function checkKeys({ key, keyEnd }: Pick<Element, 'key' | 'keyEnd'>, set: FakeSet): number {
  if (keyEnd && !set.spec.isInterval) return EINVAL
  const fits = [key, keyEnd ?? key].every((one) => isFit(one, set.spec.key))
  return fits ? 0 : EINVAL
}

function checkData(data: Element['data'], { spec }: FakeSet, table: FakeTable): number {
  if (data === undefined || spec.data === undefined) return data === spec.data ? 0 : EINVAL
  if (Buffer.isBuffer(data)) {
    return spec.data !== 'verdict' && isFit(data, spec.data) ? 0 : EINVAL
  }
  return spec.data === 'verdict' ? checkVerdict(data, table) : EINVAL
}

/** Whether the length is that of whole registers, or of a single field without padding. */
function isFit({ length }: Buffer, fields: readonly FieldType[]): boolean {
  const bytes = lengthOf(fields)
  return length === bytes || length === align(bytes)
}

function insert(wanted: HeldElement, work: ElementWork): number {
  const { set, now } = work
  const there = set.store.conflict(wanted, now)
  if (there === 'overlap') return EEXIST
  if (there) return renew(there, wanted, work)
  if (set.store instanceof FieldRanges && set.store.isReversed(wanted.element)) return EINVAL
  if (set.store.count >= set.capacity) return ENFILE
  putElement(wanted, work)
  return 0
}

/** Adds an existing element again: its data must be the same. Another timeout begins now, an equal one continues. */
function renew(there: HeldElement, wanted: HeldElement, { set, journal }: ElementWork): number {
  if (!isSameData(there.element.data, wanted.element.data)) return EEXIST
  const { timeout, expiresAt } = there
  if (timeout === wanted.timeout) return 0
  there.timeout = wanted.timeout
  there.expiresAt = wanted.expiresAt
  set.expire(there)
  journal.record(() => {
    there.timeout = timeout
    there.expiresAt = expiresAt
    set.expire(there)
  })
  return 0
}

function isSameData(a: Element['data'], b: Element['data']): boolean {
  if (a === undefined || b === undefined) return a === b
  if (Buffer.isBuffer(a) || Buffer.isBuffer(b)) {
    return Buffer.isBuffer(a) && Buffer.isBuffer(b) && a.equals(b)
  }
  const [one, other]: readonly Verdict[] = [a, b]
  return one?.kind === other?.kind && chainOf(one) === chainOf(other)
}

/** A range of single numbers is two elements of the kernel; a range up to the largest number has no end. */
function halvesOf(element: Element, { set, now }: ElementWork): readonly HeldElement[] {
  const { timeout = 0, comment, data, counter } = element
  const key = whole(element.key)
  const keyEnd = element.keyEnd && whole(element.keyEnd)
  const times = { timeout, expiresAt: timeout > 0 ? now + timeout : undefined }
  const hasBounds = set.store instanceof RangeBounds
  const first: Element = {
    key,
    ...(keyEnd && !hasBounds ? { keyEnd } : {}),
    ...(data === undefined ? {} : { data: Buffer.isBuffer(data) ? whole(data) : data }),
    ...(comment === undefined ? {} : { comment }),
    // For an element that a packet adds.
    ...(counter === undefined ? {} : { counter }),
  }
  const halves: HeldElement[] = [{ element: first, endsRange: false, ...times }]
  const behind = keyEnd && hasBounds ? next(keyEnd, set.keyLength) : undefined
  const untimed = { timeout: 0, expiresAt: undefined }
  if (behind) halves.push({ element: { key: behind }, endsRange: true, ...untimed })
  return halves
}

function whole(bytes: Buffer): Buffer {
  if (bytes.length % 4 === 0) return bytes
  return Buffer.concat([bytes], align(bytes.length))
}

/** The next larger number; undefined if there is no larger one. */
function next(key: Buffer, length: number): Buffer | undefined {
  const bytes = Buffer.from(key)
  for (let at = length - 1; at >= 0; at--) {
    bytes[at] = (bytes[at] ?? 0) + 1
    if (bytes[at] !== 0) return bytes
  }
  return undefined
}
