import { completeConfiguration, put } from '../../settings/settings.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { NodeProxyConfiguration } from '../config/fields/configuration.ts'
import { SETTINGS_TABLE } from '../config/settings-table.ts'
import type { Warning } from '../events/warnings.ts'

/** Records of a log that tests read. */
export interface Recorded {
  readonly log: Logger
  /** `level message {fields}` in order, fields as JSON. */
  readonly lines: string[]
}

export function recordingLog(): Recorded {
  const lines: string[] = []
  const at = (level: string) => (fields: unknown, message?: string) => {
    lines.push(
      message === undefined
        ? `${level} ${String(fields)}`
        : `${level} ${message} ${JSON.stringify(fields)}`,
    )
  }
  const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const
  const log = Object.fromEntries(levels.map((level) => [level, at(level)]))
  return { log: { ...log, level: 'info' } as unknown as Logger, lines }
}

/** Warnings that were to become Events, as `reason namespace/name: message`. */
export function recordingEvents() {
  const sent: string[] = []
  const warn = ({ reason, regarding, message }: Warning) => {
    sent.push(`${reason} ${regarding.namespace}/${regarding.name}: ${message}`)
  }
  return { events: { warn }, sent }
}

/** The defaults, with some values set by path. */
export function configuration(
  values: Readonly<Record<string, unknown>> = {},
): NodeProxyConfiguration {
  const tree: Record<string, unknown> = { ...completeConfiguration(SETTINGS_TABLE, new Map()) }
  for (const [path, value] of Object.entries(values)) put(tree, path, value)
  return tree as unknown as NodeProxyConfiguration
}
