import { findText } from './attribute.ts'
import { align, errnoOf, type NetlinkMessage, NLMSG_ERROR } from './message.ts'

/** linux/netlink.h: an NLMSG_ERROR does not repeat the request; attributes follow. */
const NLM_F_CAPPED = 0x100
const NLM_F_ACK_TLVS = 0x200
const NLMSGERR_ATTR_MSG = 1
const ERRNO = 4
const HEADER = 16

/** An error of the kernel in answer to a request (NLMSG_ERROR). `errno` is positive. */
export interface KernelError {
  readonly errno: number
  /** The text of the extended acknowledgement, if the socket has that option. */
  readonly text: string | undefined
}

/** The error in an NLMSG_ERROR or NLMSG_DONE; undefined for an acknowledgement. */
export function decodeKernelError(message: NetlinkMessage): KernelError | undefined {
  const errno = errnoOf(message)
  return errno === 0 ? undefined : { errno, text: wordsOf(message) }
}

function wordsOf(message: NetlinkMessage): string | undefined {
  if ((message.flags & NLM_F_ACK_TLVS) === 0) return undefined
  return findText(message.payload, NLMSGERR_ATTR_MSG, startOfAttributes(message))
}

/** The offset after the errno and, in an error, after the copy of the request (its header or all of it). */
function startOfAttributes({ type, flags, payload }: NetlinkMessage): number {
  if (type !== NLMSG_ERROR) return ERRNO
  const capped = (flags & NLM_F_CAPPED) !== 0 || payload.length < ERRNO + HEADER
  return capped
    ? ERRNO + HEADER
    : ERRNO + align(Math.min(payload.readUInt32LE(ERRNO), payload.length))
}
