{
  description = "Keyshelf: licensing and entitlement service, one process and one PostgreSQL";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      systems = [
        "x86_64-linux"
        "aarch64-linux"
        "x86_64-darwin"
        "aarch64-darwin"
      ];
      forEachSystem = f: nixpkgs.lib.genAttrs systems (system: f nixpkgs.legacyPackages.${system});
      # Node 24 is the oldest in nixpkgs that runs TypeScript sources without a flag.
      nodeOf = pkgs: pkgs.nodejs_24;
      postgresOf = pkgs: pkgs.postgresql_17;
    in
    {
      # `nix develop`: Node, PostgreSQL and its client. Then run `npm ci --omit=optional` to skip the bundled ones.
      devShells = forEachSystem (pkgs: {
        default = pkgs.mkShell {
          packages = [
            (nodeOf pkgs)
            (postgresOf pkgs)
          ];
        };
      });

      # `nix build`: the service as `bin/keyshelf`. It needs SERVICE_DATABASE_URL, because the embedded PostgreSQL expects
      # library paths that Nix does not have. `keyshelf-postgres` starts a PostgreSQL from nixpkgs.
      packages = forEachSystem (
        pkgs:
        let
          node = nodeOf pkgs;
          postgres = postgresOf pkgs;
        in
        {
          default = pkgs.buildNpmPackage {
            pname = "keyshelf";
            version = "0.1.0";
            src = self;
            nodejs = node;
            npmDeps = pkgs.importNpmLock { npmRoot = self; };
            npmConfigHook = pkgs.importNpmLock.npmConfigHook;
            npmFlags = [
              "--omit=dev"
              "--omit=optional"
            ];
            dontNpmBuild = true;
            nativeBuildInputs = [ pkgs.makeWrapper ];
            installPhase = ''
              runHook preInstall
              mkdir -p $out/lib/keyshelf $out/bin
              cp -r package.json bin src migrations openapi node_modules $out/lib/keyshelf/
              makeWrapper ${node}/bin/node $out/bin/keyshelf --add-flags $out/lib/keyshelf/bin/keyshelf.mjs
              runHook postInstall
            '';
          };

          postgres = pkgs.writeShellApplication {
            name = "keyshelf-postgres";
            runtimeInputs = [ postgres ];
            text = ''
              data="''${1:-.data/nix-postgres}"
              [ -d "$data" ] || initdb --username=keyshelf --auth=trust --encoding=UTF8 --locale=C "$data"
              exec postgres -D "$data" -c listen_addresses=127.0.0.1 -c port="''${PGPORT:-5433}"
            '';
          };
        }
      );
    };
}
