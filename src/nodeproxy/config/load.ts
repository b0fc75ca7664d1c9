import type { ConfigurationFile } from '../../settings/configuration-file.ts'
import type { GivenFlags } from '../../settings/flags.ts'
import * as load from '../../settings/load.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { CommandLine } from './command-line.ts'
import type { NodeProxyConfiguration } from './fields/configuration.ts'
import { type NodeProxyTable, SETTINGS_TABLE } from './settings-table.ts'

/** The daemon's configuration, checked, and the origin of each value that is set. */
export type LoadedConfiguration = load.LoadedConfiguration<NodeProxyConfiguration>

/** The loaded configuration, or all problems. */
export type LoadResult = load.LoadResult<NodeProxyConfiguration>

/** Loads the configuration: flags take precedence over the file, and the file over defaults. Reports all problems. */
export function loadConfiguration(
  file: ConfigurationFile | undefined,
  line: GivenFlags<NodeProxyConfiguration>,
  table: NodeProxyTable = SETTINGS_TABLE,
): Promise<LoadResult> {
  return load.loadConfiguration(table, file, line)
}

/** What the daemon is started with. */
export interface Launch extends LoadedConfiguration {
  readonly line: CommandLine
  /** The file that --config names, as it was read; undefined without the flag. */
  readonly file: ConfigurationFile | undefined
  readonly log: Logger
  readonly version: string
  /** Loads a changed file as at the start, with the same flags. */
  reload(file: ConfigurationFile): Promise<LoadResult>
}
