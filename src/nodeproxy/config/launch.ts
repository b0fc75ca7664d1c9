import type { ConfigurationFile } from '../../settings/read-file.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { CommandLine } from './command-line.ts'
import type { LoadedConfiguration, LoadResult } from './load.ts'

/** Everything the daemon starts from. */
export interface Launch extends LoadedConfiguration {
  readonly line: CommandLine
  /** What --config named, as it was read. */
  readonly file: ConfigurationFile | undefined
  readonly log: Logger
  readonly version: string
  /** Checks a changed file exactly as at start, flags included. */
  reload(file: ConfigurationFile): Promise<LoadResult>
}
