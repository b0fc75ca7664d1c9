import type { GivenFlags } from '../../settings/command-line.ts'
import { loadConfiguration } from '../../settings/load.ts'
import { readConfigurationFile } from '../../settings/read-file.ts'
import type { OrchServerConfiguration } from '../config/configuration.ts'
import { SETTINGS_TABLE } from '../config/fields/settings-table.ts'

export interface SettingsLine extends GivenFlags<OrchServerConfiguration> {
  /** The file of `--config`. */
  readonly commands: { readonly config: string | undefined }
}

/** The settings of a command line and its file. @throws NP_ORCHSERVER_CONFIG_UNREADABLE */
export async function loadSettings(line: SettingsLine) {
  const path = line.commands.config
  const file =
    path === undefined ? undefined : await readConfigurationFile(path, SETTINGS_TABLE.codes)
  return loadConfiguration(SETTINGS_TABLE, file, line)
}
