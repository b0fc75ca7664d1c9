import { constants } from 'node:os'
import { getSystemErrorName } from 'node:util'
import { hostPort } from '../../lib/ip.ts'
import { quote } from '../../lib/quote.ts'
import type { KernelError } from '../netlink/kernel-error.ts'
import { type IpvsCommand, type IpvsCommandError, virtualServerKey } from './ipvs.ts'

const { errno: ERRNO } = constants

/** The cause of a refused command, for people. */
export function describeCommandError(
  index: number,
  command: IpvsCommand,
  { errno, text }: KernelError,
): IpvsCommandError {
  const name = getSystemErrorName(-errno)
  const meaning = [meaningOf(command, errno), text && quote(text)].filter(Boolean).join('; ')
  const reason = meaning === '' ? name : `${name}: ${meaning}`
  return { index, errno: name, message: `${command.do} ${subjectOf(command)}: ${reason}` }
}

function subjectOf(command: IpvsCommand): string {
  const service = virtualServerKey(command.id)
  if (!('server' in command)) return service
  return `${service} → ${hostPort(command.server.ip, command.server.port)}`
}

function meaningOf(command: IpvsCommand, errno: number): string {
  const what = 'server' in command ? 'real server' : 'virtual server'
  switch (errno) {
    case ERRNO.EEXIST:
      return `the ${what} exists already; change or delete it`
    case ERRNO.ESRCH:
      return 'the virtual server does not exist; add it first'
    case ERRNO.ENOENT:
      return 'settings' in command ? noScheduler(command.settings.scheduler) : `no such ${what}`
    case ERRNO.ERANGE:
      return 'a weight or a threshold is out of range'
    case ERRNO.EINVAL:
      return 'the kernel does not accept this address or these settings'
    case ERRNO.EAFNOSUPPORT:
      return 'ip_vs of this kernel was built without this IP family'
    case ERRNO.EPERM:
      return 'run with CAP_NET_ADMIN'
    default:
      return ''
  }
}

function noScheduler(scheduler: string): string {
  return `this kernel has no scheduler ${quote(scheduler)}; load it: modprobe ip_vs_${scheduler}`
}
