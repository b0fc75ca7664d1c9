import type { ConfigurationFile } from '../../settings/configuration-file.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { CommandLine } from './command-line.ts'
import type { LoadedConfiguration, LoadResult } from './load.ts'

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
