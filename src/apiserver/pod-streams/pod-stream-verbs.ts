import type { ServerContext } from '../context/server-context.ts'
import type { HandlerResult, StreamRequest } from '../request/api-request.ts'
import type { StreamedSubresource } from '../resource/resource.ts'
import { badRequest } from '../status/status-errors.ts'
import { exec } from './exec.ts'
import { log } from './log.ts'
import { portForward } from './port-forward.ts'

type Verb = (context: ServerContext, request: StreamRequest) => Promise<HandlerResult>

/** What serves each stream of a Pod. */
export const podStreamVerbs: Readonly<Record<StreamedSubresource['name'], Verb>> = {
  log,
  exec,
  portforward: portForward,
  attach: () => Promise.resolve(badRequest(NO_ATTACH)),
}

const NO_ATTACH =
  'attach is not supported: containers of this node agent have no input; read their output by the subresource log, and run commands by exec'
