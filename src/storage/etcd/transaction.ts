import type { MessageInitShape } from '@bufbuild/protobuf'
import { refuseDuplicateKeys } from '../distinct-keys.ts'
import type { Compare, Operation, StoredEntry, Transaction, TxnResult } from '../store.ts'
import {
  Compare_CompareTarget,
  type RequestOpSchema,
  type ResponseOp,
  type TxnRequestSchema,
  type TxnResponse,
} from './generated/etcd_pb.ts'
import type { KeySpace } from './key-space.ts'

type Request = MessageInitShape<typeof RequestOpSchema>

/**
 * The transaction as etcd runs it: with the marker where it changes anything;
 * where a compare fails, it reads what was compared.
 */
export function txnRequest(
  { compare, operations }: Transaction,
  keys: KeySpace,
): MessageInitShape<typeof TxnRequestSchema> {
  refuseDuplicateKeys(operations)
  return {
    compare: compare.map((one) => revisionIs(one, keys)),
    success: effectOf(operations, keys),
    failure: [...compare.map(({ key }) => read(keys.encode(key))), read(keys.marker)],
  }
}

export function txnResult(response: TxnResponse, keys: KeySpace): TxnResult {
  if (response.succeeded) return { committed: true, revision: revisionAfter(response) }
  const current = response.responses.slice(0, -1).map((one) => found(one, keys))
  return { committed: false, revision: revisionAfter(response), current }
}

/** Deletions alone may change nothing: then the marker stays as it is. */
function effectOf(operations: readonly Operation[], keys: KeySpace): Request[] {
  if (operations.length === 0) return [read(keys.marker)]
  const changes = [markerPut(keys), ...operations.map((one) => requestOf(one, keys))]
  if (operations.some(({ op }) => op === 'put')) return changes
  const value = {
    compare: operations.map(({ key }) => revisionIs({ key, modRevision: 0 }, keys)),
    success: [read(keys.marker)],
    failure: changes,
  }
  return [{ request: { case: 'requestTxn', value } }]
}

/** Takes a revision. */
export function markerPut({ marker }: KeySpace): Request {
  return put(marker)
}

/** What the marker was last read as; without that, it was written. */
function revisionAfter({ header, responses }: TxnResponse): number {
  const { response } = responses.at(-1) ?? {}
  if (response?.case === 'responseTxn') return revisionAfter({ ...response.value, header })
  if (response?.case !== 'responseRange') return Number(header?.revision ?? 0n)
  return Number(response.value.kvs[0]?.modRevision ?? 0n)
}

/** An absent key has the revision 0 in etcd, too. */
function revisionIs({ key, modRevision }: Compare, keys: KeySpace) {
  return {
    target: Compare_CompareTarget.MOD,
    key: keys.encode(key),
    targetUnion: { case: 'modRevision' as const, value: BigInt(modRevision) },
  }
}

function requestOf(operation: Operation, keys: KeySpace): Request {
  const key = keys.encode(operation.key)
  if (operation.op === 'put') return put(key, operation.value)
  return { request: { case: 'requestDeleteRange', value: { key } } }
}

function put(key: Buffer, value: Buffer = Buffer.alloc(0)): Request {
  return { request: { case: 'requestPut', value: { key, value } } }
}

function read(key: Buffer): Request {
  return { request: { case: 'requestRange', value: { key } } }
}

function found({ response }: ResponseOp, keys: KeySpace): StoredEntry | undefined {
  const pair = response.case === 'responseRange' ? response.value.kvs[0] : undefined
  return pair && keys.entry(pair)
}
