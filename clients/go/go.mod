module keyshelf.example/keyshelf

go 1.19
