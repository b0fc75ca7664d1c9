import { constants } from 'node:os'
import { getSystemErrorName } from 'node:util'
import { NodeProxyError } from '../../../lib/error.ts'
import type { KernelError } from '../../netlink/kernel-error.ts'
import type { TransactionError } from '../nftables.ts'

/** What a refused command means, where the kernel has no words of its own. */
const MEANINGS: Readonly<Record<number, string>> = {
  [constants.errno.EPERM]:
    'not permitted: CAP_NET_ADMIN is missing, or the table belongs to another program',
  [constants.errno.ENOENT]: 'something that it names is not there, or a kernel module is missing',
  [constants.errno.EEXIST]: 'it is there already, with another content',
  [constants.errno.EBUSY]: 'it is in use',
  [constants.errno.ENFILE]: 'the set is full',
  [constants.errno.EOPNOTSUPP]: 'the kernel does not support it',
}

export function transactionError(
  error: KernelError,
  command: number | undefined,
): TransactionError {
  return { command, errno: error.errno, message: describe(error) }
}

/** Nothing can be said of the kernel without this. */
export function unread(what: string, error: KernelError): NodeProxyError {
  return new NodeProxyError('NP_KERNEL_NETLINK', `${what} cannot be read: ${describe(error)}`)
}

function describe({ errno, text }: KernelError): string {
  const name = getSystemErrorName(-errno)
  const words = (text ?? MEANINGS[errno] ?? '').replaceAll(/[^\x20-\x7e]/g, '?')
  return words === '' ? name : `${name}: ${words}`
}
