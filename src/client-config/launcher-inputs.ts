/**
 * The only runtime arguments that are written, without values (reference/client-config). They affect prompts, output and the
 * container's lifetime. Any other argument may make the launcher run something else: `--package`, `--from`, `-v /:/host`,
 * another image before the listed one.
 */
export const RUNTIME_FLAGS = {
  npx: ['-y', '--yes', '-q', '--quiet'],
  uvx: ['-q', '--quiet'],
  docker: ['-i', '--interactive', '--rm', '--init'],
  dnx: ['-y', '--yes'],
} as const satisfies Record<string, readonly string[]>;

/** A program that downloads and runs packages. */
export type Launcher = keyof typeof RUNTIME_FLAGS;

/** Prefixes of names, in upper case. */
const PREFIXES = [
  // Node.js, its package managers and version managers.
  'NPM_ NPX_ NODE_ YARN_ PNPM_ BUN_ DENO_ COREPACK_ ELECTRON_ NVM_ FNM_ VOLTA_ NODENV_ TS_NODE_ VSCODE_',
  // Python.
  'PYTHON UV_ PIP_ PIPX_ PIPENV_ POETRY_ PDM_ HATCH_ PYENV_ CONDA_ MAMBA_ VIRTUALENV_ SETUPTOOLS_',
  'DISTUTILS_',
  // .NET.
  'DOTNET_ NUGET_ CORECLR_ COMPLUS_ COR_ MSBUILD VSTEST_',
  // Containers, and the programs that store Docker's passwords.
  'DOCKER_ BUILDKIT_ BUILDX_ COMPOSE_ CONTAINERS_ CONTAINERD_ PODMAN_ PASSWORD_STORE_ PINENTRY_ DBUS_',
  'CLOUDSDK_PYTHON',
  // Other runtimes and package managers.
  'PERL RUBY GEM_ BUNDLE_ BUNDLER_ LUA_ JDK_ MAVEN_ MVN_ GRADLE_ CARGO_ RUSTC RUSTUP_ JULIA_ ERL_ ELIXIR_',
  'COMPOSER_ HOMEBREW_ NIX_ ASDF_ MISE_ __PYVENV GIT_ PKG_CONFIG CMAKE_ GYP_',
  // Linkers and C libraries.
  'LD_ DYLD_ LDR_ MALLOC_ GLIBC_ RESOLV_ GTK_ QT_ GIO_',
  // Shells and terminals.
  'BASH ZSH_ KSH_ FISH_ PSMODULE LESS TERMINFO XDG_ SUDO_',
  // TLS and downloads.
  'SSL_ SSLKEYLOG OPENSSL_ CURL_ WGET',
].flatMap((words) => words.split(' '));

/** Complete names, in upper case. */
const NAMES = new Set(
  [
    // Files and programs of the user, the shell and Windows.
    'PATH PATHEXT HOME PWD OLDPWD TMPDIR TEMP TMP PREFIX DESTDIR INIT_CWD ENV SHELL SHELLOPTS IFS CDPATH',
    'FPATH GLOBIGNORE ZDOTDIR INPUTRC POSIXLY_CORRECT PS0 PS1 PS2 PS3 PS4 PROMPT_COMMAND TERMCAP EDITOR',
    'VISUAL PAGER MANPAGER BROWSER COMSPEC SYSTEMROOT SYSTEMDRIVE WINDIR APPDATA LOCALAPPDATA PROGRAMDATA',
    'ALLUSERSPROFILE USERPROFILE HOMEDRIVE HOMEPATH HOMESHARE PUBLIC __COMPAT_LAYER __PSLOCKDOWNPOLICY',
    'PROGRAMFILES PROGRAMW6432 COMMONPROGRAMFILES COMMONPROGRAMW6432',
    // Networks, libraries and locales.
    'PROXY NOPROXY REQUESTS_CA_BUNDLE NETRC HOSTALIASES LOCALDOMAIN RES_OPTIONS GCONV_PATH LOCPATH NLSPATH',
    'TZDIR LIBPATH SHLIB_PATH LIBRARY_PATH CAML_LD_LIBRARY_PATH',
    // Runtimes, and the tools that build packages.
    '_JAVA_OPTIONS JAVA_TOOL_OPTIONS JAVA_OPTS JAVA_HOME JRE_HOME CLASSPATH IBM_JAVA_OPTIONS',
    'OPENJ9_JAVA_OPTIONS ASPNETCORE_HOSTINGSTARTUPASSEMBLIES VIRTUAL_ENV PHPRC PHP_INI_SCAN_DIR TCLLIBPATH',
    'OCAMLRUNPARAM GHCRTS R_HOME R_ENVIRON R_ENVIRON_USER R_PROFILE R_PROFILE_USER R_LIBS R_LIBS_SITE R_LIBS_USER N_PREFIX',
    'RUSTFLAGS SSH_ASKPASS SSH_ASKPASS_REQUIRE SSH_AUTH_SOCK SSH_SK_PROVIDER GNUPGHOME GPG_AGENT_INFO GPG_TTY',
    'REGISTRY_AUTH_FILE CONTAINER_HOST CONTAINER_CONNECTION CONTAINER_SSHKEY SSH_AGENT_PID CC CXX CPP AR AS',
    'LD NM FC LINK CL _CL_ INCLUDE LIB MAKE MAKEFLAGS CFLAGS CXXFLAGS CPPFLAGS LDFLAGS CPATH C_INCLUDE_PATH',
    'CPLUS_INCLUDE_PATH LDSHARED LDCXXSHARED ARFLAGS RANLIB F77 F90',
  ].flatMap((words) => words.split(' ')),
);

/** Variables of Go programs such as `docker` (`GODEBUG`, `GOPROXY`), and proxies. */
const PATTERN = /^GO[A-Z]+$|_PROXY$/;

/**
 * Returns whether launchers, runtimes, linkers, shells, proxies or package managers read a variable with this name, in
 * any letter case (reference/client-config). Such a variable can make them run something else, even in containers.
 *
 * @param name consists of ASCII letters, digits and `_`.
 */
export function isReadByLaunchers(name: string): boolean {
  const upper = name.toUpperCase();
  return NAMES.has(upper) || PATTERN.test(upper) || PREFIXES.some((prefix) => upper.startsWith(prefix));
}
