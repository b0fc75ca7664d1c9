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
 * The request to etcd. On success it also writes the marker, if anything changes; on failure it reads the
 * compared keys.
 * @throws NP_STORAGE_DUPLICATE_KEY
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

/** The result of a response to `txnRequest`. */
export function txnResult(response: TxnResponse, keys: KeySpace): TxnResult {
  if (response.succeeded) return { committed: true, revision: revisionAfter(response) }
  const current = response.responses.slice(0, -1).map((one) => found(one, keys))
  return { committed: false, revision: revisionAfter(response), current }
}

/** Deletions alone may change nothing: the marker is written only if one of the keys exists. */
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

/** Writes the marker, which takes a revision. */
export function markerPut({ marker }: KeySpace): Request {
  return put(marker)
}

/**
 * The revision of the marker if the response contains it; else the revision of the response, whose transaction
 * wrote the marker.
 */
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
