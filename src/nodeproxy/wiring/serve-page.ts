import { join } from 'node:path'
import { commandDocuments, runLauncher } from '../../inspection/http/command-documents.ts'
import type { InspectionHandlerParts } from '../../inspection/http/inspection-handler.ts'
import { lazyListener } from '../../inspection/http/page-handler.ts'
import type { InspectionSource } from '../../inspection/inspection-source.ts'
import { systemClock as clock } from '../../lib/clock.ts'
import type { Conditions } from '../../telemetry/health/conditions.ts'
import type { Launch } from '../config/launch.ts'
import { Listener } from '../servers/listener.ts'

/** The program, whose commands read what this process does not read itself. */
const LAUNCHER = join(import.meta.dirname, '../../../bin/node-proxy')

/** What inspection over HTTP is started with. */
export interface HttpParts {
  readonly launch: Pick<Launch, 'config' | 'log'>
  readonly conditions: Pick<Conditions, 'raise' | 'clear'>
  readonly source: InspectionSource
}

/** The parts of the handlers of inspection over HTTP. */
export function handlerParts({ launch, source }: HttpParts): InspectionHandlerParts {
  const { socket } = launch.config.inspection
  return {
    source,
    socket,
    readDocument: commandDocuments(runLauncher(LAUNCHER)),
    onError: (error) => launch.log.error({ err: error }, 'answering an inspection request failed'),
  }
}

/** Serves the page on this machine. While the address cannot be bound, a condition says so. */
export async function servePage(
  parts: InspectionHandlerParts,
  { launch, conditions }: HttpParts,
): Promise<{ close(): Promise<void> } | undefined> {
  const address = launch.config.inspection.pageBindAddress
  if (address === undefined) return undefined
  const load = async () => {
    const { pageHandler } = await import('../../inspection/http/page-handler.ts')
    const { readPageFiles } = await import('../../page/serving/page-files.ts')
    return pageHandler(parts, await readPageFiles())
  }
  const listener = new Listener({
    address,
    clock,
    handler: lazyListener(load, parts.onError),
    onBlocked: ({ message, hint }) =>
      conditions.raise('inspection-page-not-served', {
        message: `inspection.pageBindAddress is not served: ${message}; ${hint} (it is tried again)`,
        blocksReadiness: false,
      }),
    onListening: () => conditions.clear('inspection-page-not-served'),
  })
  await listener.start()
  return listener
}
